import LockstepTime
import Synchronization

/// The time for which a node may answer from its memory.
///
/// While the lease runs, no commit that ends a session counts as complete before this node knows of it.
/// A node that is cut off from the database cannot renew its lease. When the lease is over, the node
/// refuses requests, because its memory may be outdated.
package final class NodeLease: Sendable {
  /// How long a lease runs.
  static let length = Duration.seconds(2)

  /// In nanoseconds of the system's monotonic clock, which a test does not move.
  private let moment = Atomic(Int64.min)

  package var isHeld: Bool { TimeSource.system.monotonic() < moment.load(ordering: .acquiring) }

  /// Ends the lease, because the store has lost track of it.
  func end() { moment.store(.min, ordering: .releasing) }

  /// Sets the end to the length of a lease after `start`. Returns whether the lease was over before.
  func renew(at start: Int64) -> Bool {
    let wasHeld = isHeld
    moment.store(start + Self.length.wholeNanoseconds, ordering: .releasing)
    return !wasHeld
  }
}
