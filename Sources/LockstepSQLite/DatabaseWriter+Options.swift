extension DatabaseWriter {
  /// The limits of a writer.
  public struct Options: Sendable {
    /// The name of its thread and in its errors. Default: `writer`.
    public var name: String
    /// How many units may wait, at least 1. Default: 4,096.
    public var capacity: Int
    /// How many units share a transaction at most, at least 1. Default: 256.
    public var groupLimit: Int
    /// How many pages the WAL grows by before a checkpoint, at least 1. Default: 4,000, which is 16
    /// MiB of 4-KiB pages.
    ///
    /// A larger value means fewer but longer pauses and less work in total, since a page that
    /// changed many times is moved once. Up to 4,062 pages, SQLite finds a page in the WAL in one
    /// step.
    public var checkpointPages: Int
    /// How long a checkpoint waits for readers once the WAL is eight times that size. Default: 100
    /// ms.
    public var checkpointTimeout: Duration

    /// Options with their defaults.
    public init(
      name: String = "writer",
      capacity: Int = 4_096,
      groupLimit: Int = 256,
      checkpointPages: Int = 4_000,
      checkpointTimeout: Duration = .milliseconds(100)
    ) {
      self.name = name
      self.capacity = max(1, capacity)
      self.groupLimit = max(1, groupLimit)
      self.checkpointPages = max(1, checkpointPages)
      self.checkpointTimeout = checkpointTimeout
    }
  }
}
