import LockstepSQLite

extension DurableStore {
  /// The bounds of a store.
  public struct Options: Sendable {
    /// How long to wait for a lock that another process holds. Default: 5 seconds.
    public var busyTimeout: Duration
    /// About how long to wait for whoever else has the store. Default: not at all.
    public var lockPatience: Duration
    /// The writer's.
    public var writer: DatabaseWriter.Options
    /// How many threads read, at least 1. Default: 2.
    public var readingThreads: Int
    /// How many readings may wait, at least 1. Default: 4,096.
    public var readingCapacity: Int

    /// Options with their defaults.
    public init(
      busyTimeout: Duration = .seconds(5),
      lockPatience: Duration = .zero,
      writer: DatabaseWriter.Options = DatabaseWriter.Options(),
      readingThreads: Int = 2,
      readingCapacity: Int = 4_096
    ) {
      self.busyTimeout = busyTimeout
      self.lockPatience = lockPatience
      self.writer = writer
      self.readingThreads = readingThreads
      self.readingCapacity = readingCapacity
    }
  }
}
