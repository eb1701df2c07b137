extension DatabaseWriter {
  /// The bounds of a writer.
  public struct Options: Sendable {
    /// What its thread and its errors are called. Default: `writer`.
    public var name: String
    /// How many units may wait, at least 1. Default: 4,096.
    public var capacity: Int
    /// How many units share a transaction at most, at least 1; they wait for each other. Default: 256.
    public var groupLimit: Int
    /// After how many pages the log is emptied into the database file, at least 1: more make for fewer pauses and less
    /// work in all, since a page that was changed many times is moved once, and for longer pauses. Default: 4,000, 16 MiB
    /// of 4-KiB pages; up to 4,062 SQLite finds a page in the log at once.
    public var checkpointPages: Int
    /// How long the writer waits for readers to leave a log that has grown to eight times that size. Default: 100 ms.
    public var checkpointPatience: Duration

    /// Options with their defaults.
    public init(
      name: String = "writer",
      capacity: Int = 4_096,
      groupLimit: Int = 256,
      checkpointPages: Int = 4_000,
      checkpointPatience: Duration = .milliseconds(100)
    ) {
      self.name = name
      self.capacity = max(1, capacity)
      self.groupLimit = max(1, groupLimit)
      self.checkpointPages = max(1, checkpointPages)
      self.checkpointPatience = checkpointPatience
    }
  }
}
