import Glibc
import LockstepTime
import Synchronization

/// The time for which a node may respond from its memory.
///
/// While the lease runs, no commit that ends a session counts as complete before this node knows of it.
/// A node that is cut off from the database cannot renew its lease. When the lease is over, the node
/// refuses requests, because its memory may be outdated.
package final class NodeLease: Sendable {
  /// How long a lease runs.
  static let length = Duration.seconds(2)

  /// The end of the lease, in nanoseconds of `now`.
  private let moment = Atomic(Int64.min)

  /// Nanoseconds since the system started, including the time for which it slept. Tests cannot set it.
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  package var isHeld: Bool { Self.now < moment.load(ordering: .acquiring) }

  /// Ends the lease, because the store has lost track of it.
  func end() { moment.store(.min, ordering: .releasing) }

  /// Sets the end to the length of a lease after `start`. Returns whether the lease was over before.
  func renew(at start: Int64) -> Bool {
    let wasHeld = isHeld
    moment.store(start + Self.length.wholeNanoseconds, ordering: .releasing)
    return !wasHeld
  }
}
