import LockstepSQLite

extension DurableStore {
  /// The limits of a store.
  public struct Options: Sendable {
    /// How long to wait for an SQLite lock of another process. Default: 5 seconds.
    public var busyTimeout: Duration
    /// The approximate time to wait until another server or command releases the store. Default: none.
    public var lockPatience: Duration
    /// The options of the writer.
    public var writer: DatabaseWriter.Options
    /// The number of reader threads, at least 1. Default: 2.
    public var readingThreads: Int

    /// Options with their defaults.
    public init(
      busyTimeout: Duration = .seconds(5),
      lockPatience: Duration = .zero,
      writer: DatabaseWriter.Options = DatabaseWriter.Options(),
      readingThreads: Int = 2
    ) {
      self.busyTimeout = busyTimeout
      self.lockPatience = lockPatience
      self.writer = writer
      self.readingThreads = readingThreads
    }
  }
}
