import LockstepThreading

extension DatabaseWriter {
  /// What somebody who looks after the store should know.
  public enum HealthChange: Sendable {
    /// Work that used to be done fails now, for this reason. What else fails of the kind isn't told.
    case began(Work, any Error)
    /// It's done again.
    case ended(Work)
  }

  /// What can fail as a whole.
  public enum Work: Sendable, Equatable {
    /// To have a group on disk.
    case commit
    /// To move the log's contents into the database: what is in the log is safe, but it grows.
    case checkpoint
    /// To read, on a thread of `ReaderPool`.
    case read
  }

  /// Has `listener` told where trouble begins and where it ends, on the writer's thread, in the place of whoever was told
  /// before. It should be short, and must not wait for the writer.
  ///
  /// Each kind of work is told of once in ten seconds at most, however often it fails and succeeds in turn; what began is
  /// always told to end, by the first work that is done.
  public func onHealthChange(_ listener: @escaping @Sendable (HealthChange) -> Void) {
    healthListener.withLock { $0 = listener }
  }
}

/// Whether a kind of work fails, and who is told.
struct FailureMonitor {
  /// How long nothing new is told, in nanoseconds.
  private static let pause: Int64 = 10_000_000_000

  private let work: DatabaseWriter.Work
  private let listener: LockedState<(@Sendable (DatabaseWriter.HealthChange) -> Void)?>
  private var isTold = false
  private var lastTold: Int64?

  init(_ work: DatabaseWriter.Work, _ listener: LockedState<(@Sendable (DatabaseWriter.HealthChange) -> Void)?>) {
    self.work = work
    self.listener = listener
  }

  mutating func noteFailure(_ error: any Error, now: Int64) {
    if isTold { return }
    if let lastTold, now - lastTold < Self.pause { return }
    isTold = true
    lastTold = now
    tell(.began(work, error))
  }

  mutating func noteSuccess() {
    guard isTold else { return }
    isTold = false
    tell(.ended(work))
  }

  private func tell(_ trouble: DatabaseWriter.HealthChange) { listener.withLock { $0 }?(trouble) }
}

extension ReaderPool {
  /// Has `listener` told where reading begins to fail for the disk's or the file's sake, and where it doesn't any more, as
  /// `DatabaseWriter.onHealthChange(_:)` says: on the thread that reads, and in the place of whoever was told before.
  ///
  /// - Parameters:
  ///   - monotonic: A clock that never goes back, in nanoseconds.
  ///   - listener: Who is told.
  public func onHealthChange(
    monotonic: @escaping @Sendable () -> Int64,
    _ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void
  ) {
    let watch = ReaderFailureMonitor(trouble: FailureMonitor(.read, LockedState(listener)), monotonic: monotonic)
    self.watch.withLock { $0 = watch }
  }
}

/// Whether the threads that read fail.
struct ReaderFailureMonitor {
  var trouble: FailureMonitor
  let monotonic: @Sendable () -> Int64

  /// Runs `body`, which reads, and takes note of how it ends.
  static func note<Value>(in watch: LockedState<ReaderFailureMonitor?>, _ body: () throws -> Value) throws -> Value {
    do {
      let value = try body()
      watch.withLock { $0?.trouble.noteSuccess() }
      return value
    } catch let error as SQLiteError where error.isOfTheStore {
      watch.withLock { watch in
        if let now = watch?.monotonic() { watch?.trouble.noteFailure(error, now: now) }
      }
      throw error
    }
  }
}
