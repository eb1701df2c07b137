import Synchronization

/// Whether writes that may end sessions are in progress. A session ends in memory only after its
/// end is committed. A write of the session in between must check the store.
package final class SessionEndingTracker: Sendable {
  private let underWay = Atomic(0)

  /// Whether a session may have ended in the store but not yet in memory.
  package var areUnderWay: Bool { underWay.load(ordering: .acquiring) > 0 }

  /// Call this before a write that may end sessions.
  package func begin() { underWay.add(1, ordering: .acquiringAndReleasing) }

  /// Call this once for each `begin()`, after the sessions have ended in memory.
  package func finish() { underWay.subtract(1, ordering: .acquiringAndReleasing) }
}
