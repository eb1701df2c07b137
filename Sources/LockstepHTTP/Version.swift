/// The product's version, as in `lockstep --version`, the index and the metrics.
public let lockstepVersion = "0.2.0"
