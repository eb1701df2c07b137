extension Writer {
  /// The bounds of a writer.
  public struct Options: Sendable {
    /// What its thread and its errors are called. Default: `writer`.
    public var name: String
    /// How many units may wait, at least 1. Default: 4,096.
    public var capacity: Int
    /// How many units share a transaction at most, at least 1; they wait for each other. Default: 256.
    public var groupLimit: Int

    /// Options with their defaults.
    public init(name: String = "writer", capacity: Int = 4_096, groupLimit: Int = 256) {
      self.name = name
      self.capacity = capacity
      self.groupLimit = groupLimit
    }
  }
}
