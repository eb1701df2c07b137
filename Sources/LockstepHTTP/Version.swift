/// The product's version, as `lockstep --version`, the index and the metrics report it.
public let lockstepVersion = "0.1.0"
