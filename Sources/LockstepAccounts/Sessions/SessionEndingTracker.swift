import Synchronization

/// Whether sessions may be ending just now. They are taken out of memory when it's on disk that they have ended; a write of theirs that
/// comes between must find that out in the store.
package final class SessionEndingTracker: Sendable {
  private let underWay = Atomic(0)

  /// Whether there may be a session that has ended in the store and not yet in memory.
  package var areUnderWay: Bool { underWay.load(ordering: .acquiring) > 0 }

  /// To be called before anything is written that may end sessions.
  package func begin() { underWay.add(1, ordering: .acquiringAndReleasing) }

  /// To be called once for each `begin()`, when it's known what has ended, and that has ended in memory.
  package func finish() { underWay.subtract(1, ordering: .acquiringAndReleasing) }
}
