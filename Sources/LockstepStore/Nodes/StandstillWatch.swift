import LockstepThreading

/// Notices that this process got no processor time for seconds: it was stopped with a signal, its machine
/// was paused, or the machine is far too busy.
///
/// A thread notes each half second that it runs. So any thread can find a standstill, even before that
/// thread runs again.
final class StandstillWatch: Sendable {
  /// The time between two notes.
  static let interval = Duration.milliseconds(500)
  /// A shorter pause is no standstill.
  static let shortest = Duration.seconds(2)
  /// The time after a standstill for which it explains failures.
  private static let memory = Duration.seconds(20)

  private struct Contents: Sendable {
    /// Nil until the thread runs.
    var lastNote: Int64?
    var last: (end: Int64, length: Int64)?
  }

  private let contents = LockedState(Contents())

  /// Call this each `interval`. Returns the length of a standstill that has just ended. `now` is a time of
  /// `NodeLease.now`.
  func note(at now: Int64 = NodeLease.now) -> Duration? {
    contents.withLock { contents in
      let length = now - (contents.lastNote ?? now)
      contents.lastNote = now
      guard length >= Self.shortest.wholeNanoseconds else { return nil }
      contents.last = (now, length)
      return .nanoseconds(length)
    }
  }

  /// The length of a standstill that lasts or has ended within `memory`; nil if there was none.
  func recent(at now: Int64 = NodeLease.now) -> Duration? {
    contents.withLock { contents in
      let length = now - (contents.lastNote ?? now)
      if length >= Self.shortest.wholeNanoseconds { return .nanoseconds(length) }
      guard let last = contents.last, now - last.end < Self.memory.wholeNanoseconds else { return nil }
      return .nanoseconds(last.length)
    }
  }
}
