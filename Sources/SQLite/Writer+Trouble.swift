import Workers

extension Writer {
  /// What somebody who looks after the store should know.
  public enum Trouble: Sendable {
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
  }

  /// Has `listener` told where trouble begins and where it ends, on the writer's thread, in the place of whoever was told
  /// before. It should be short, and must not wait for the writer.
  ///
  /// Each kind of work is told of once in ten seconds at most, however often it fails and succeeds in turn; what began is
  /// always told to end, by the first work that is done.
  public func whenInTrouble(_ listener: @escaping @Sendable (Trouble) -> Void) {
    troubleListener.withLock { $0 = listener }
  }
}

/// Whether a kind of work fails, and who is told.
struct TroubleWatch {
  /// How long nothing new is told, in nanoseconds.
  private static let pause: Int64 = 10_000_000_000

  private let work: Writer.Work
  private let listener: Monitor<(@Sendable (Writer.Trouble) -> Void)?>
  private var isTold = false
  private var lastTold: Int64?

  init(_ work: Writer.Work, _ listener: Monitor<(@Sendable (Writer.Trouble) -> Void)?>) {
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

  private func tell(_ trouble: Writer.Trouble) { listener.withLock { $0 }?(trouble) }
}

extension SQLiteError {
  /// Whether it's the disk or the file that fails, and not the statement.
  var isOfTheStore: Bool {
    switch kind {
    case .full, .readOnly, .corrupt, .notADatabase, .cannotOpen, .inputOutput: true
    default: false
    }
  }
}
