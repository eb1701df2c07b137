import Glibc
import LockstepTime
import Synchronization

/// The time for which a node may respond from its memory.
///
/// While the lease runs, no commit that ends a session counts as complete before this node knows of it.
/// A node that is cut off from the database cannot renew its lease. When the lease is over, the node
/// refuses requests, because its memory may be outdated.
///
/// The row in `nodes` shows the lease to the other nodes. The lease of this object never runs
/// longer: it counts from before the statement was sent, and the row counts from the moment at which
/// PostgreSQL ran it. So a process or a statement that stands still only makes the lease here shorter.
///
/// A renewal counts only if the row has shown a lease all the time since the commits were read. If it
/// has not, another node may have seen the lease end in between, and may have completed a commit without
/// this node. Then this node must read the commits again before its lease begins again.
package final class NodeLease: Sendable {
  /// How long a lease runs.
  static let length = Duration.seconds(2)

  /// A renewal of the row in `nodes`. The times are in nanoseconds of `now`.
  struct Renewal {
    /// A time before the node read the commits that its memory has.
    let readAt: Int64
    /// A time before the node sent the renewal.
    let sentAt: Int64
    /// A time after the response to it had arrived.
    let receivedAt: Int64
    /// Whether the row was missing, or showed the end of the lease by the clock of the database.
    let wasOver: Bool
  }

  enum Outcome {
    case extended
    /// The lease was over here, but the row has shown a lease since the commits were read.
    case regained
    /// The commits must be read again.
    case over
  }

  /// The end of the lease.
  private let end = Atomic(Int64.min)
  /// The row shows a lease at least until this time. Only the thread of the feed uses it.
  private let shownUntil = Atomic(Int64.min)

  /// Nanoseconds since the system started, including the time for which it slept. Tests cannot set it.
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  package var isHeld: Bool { isHeld(at: Self.now) }

  func isHeld(at now: Int64) -> Bool { now < end.load(ordering: .acquiring) }

  /// Notes that the row shows a lease, even if the memory lacks commits. Ends the lease if the row did not show it
  /// before.
  func begin(sentAt: Int64, wasOver: Bool) {
    if wasOver { end.store(.min, ordering: .releasing) }
    shownUntil.store(sentAt + Self.length.wholeNanoseconds, ordering: .relaxed)
  }

  /// Extends the lease to its length after the commits were read, or ends it. `now` is called after that.
  func note(_ renewal: Renewal, now: () -> Int64 = { NodeLease.now }) -> Outcome {
    let wasShown = !renewal.wasOver && renewal.receivedAt < shownUntil.load(ordering: .relaxed)
    shownUntil.store(renewal.sentAt + Self.length.wholeNanoseconds, ordering: .relaxed)
    guard wasShown else {
      end.store(.min, ordering: .releasing)
      return .over
    }
    let last = end.exchange(renewal.readAt + Self.length.wholeNanoseconds, ordering: .acquiringAndReleasing)
    // The time is read after the change, so that each request that has found the lease over is notified.
    return now() < last ? .extended : .regained
  }
}
