import LockstepThreading

extension DatabaseWriter {
  /// A change in the health of the store, for the operator.
  package enum HealthChange: Sendable {
    /// This kind of work has begun to fail.
    case began(Work, any Error)
    /// This kind of work has failed for 20 seconds. The next report comes when it succeeds.
    case lasts(Work, any Error)
    /// This kind of work succeeds again.
    case ended(Work)
  }

  /// Work that fails if the disk or the file fails.
  package enum Work: Sendable, Equatable {
    case commit
    /// If it fails, the WAL keeps its contents and grows.
    case checkpoint
    /// A read on a thread of `ReaderPool`.
    case read
    /// Reading the commits of other nodes.
    case follow
    /// Writes of a user whose rows another program has locked.
    case lockedUser
    /// Writes of users whose locks another node holds for seconds.
    case busyUser
  }

  /// Sets the listener for health changes. It replaces an earlier one.
  ///
  /// The writer thread calls the listener, which must be short and must not wait for the writer.
  /// For each kind of work, the listener gets at most one `began` in ten seconds, then at most one
  /// `lasts`, and the next `ended`.
  package func onHealthChange(_ listener: @escaping @Sendable (HealthChange) -> Void) {
    shared.healthListener.withLock { $0 = listener }
  }
}

extension ReaderPool {
  /// Sets the listener for failures of the disk or the file, like
  /// `DatabaseWriter.onHealthChange(_:)`. A reader thread calls the listener. `monotonic` is a
  /// clock in nanoseconds.
  package func onHealthChange(
    monotonic: @escaping @Sendable () -> Int64,
    _ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void
  ) {
    let monitor = FailureMonitor(work: .read, listener: LockedState(listener), monotonic: monotonic)
    self.monitor.withLock { $0 = monitor }
  }
}

/// Reports when a kind of work begins to fail and when it succeeds again.
package struct FailureMonitor: Sendable {
  package typealias Listener = LockedState<(@Sendable (DatabaseWriter.HealthChange) -> Void)?>

  /// The shortest time between two reports of failures, in nanoseconds.
  private static let pause: Int64 = 10_000_000_000
  /// From this time on, a failure is reported as one that lasts, in nanoseconds.
  private static let long: Int64 = 20_000_000_000

  let work: DatabaseWriter.Work
  let listener: Listener
  let monotonic: @Sendable () -> Int64
  private(set) var isFailing = false
  private(set) var lastReport: Int64?
  private var isLong = false

  package init(work: DatabaseWriter.Work, listener: Listener, monotonic: @escaping @Sendable () -> Int64) {
    (self.work, self.listener, self.monotonic) = (work, listener, monotonic)
  }

  /// A monitor of another kind of work for the same listener.
  package func of(_ work: DatabaseWriter.Work) -> FailureMonitor {
    FailureMonitor(work: work, listener: listener, monotonic: monotonic)
  }

  package mutating func noteFailure(_ error: any Error) {
    let now = monotonic()
    let age = lastReport.map { now - $0 }
    if isFailing {
      guard !isLong, let age, age >= Self.long else { return }
      isLong = true
      return report(.lasts(work, error))
    }
    if let age, age < Self.pause { return }
    (isFailing, isLong) = (true, false)
    lastReport = now
    report(.began(work, error))
  }

  package mutating func noteSuccess() {
    guard isFailing else { return }
    isFailing = false
    report(.ended(work))
  }

  private func report(_ change: DatabaseWriter.HealthChange) { listener.withLock { $0 }?(change) }
}
