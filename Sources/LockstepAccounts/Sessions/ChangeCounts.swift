import LockstepCollections
import Synchronization

/// Counts the changes of users' states and the ends of their sessions, so that a kept response can
/// be checked without looking up its user's state and session. Their memory is usually not in the
/// CPU's cache.
///
/// Many users share a count. If the count is still the same, nothing has changed for the user.
/// Otherwise, the state and the session must be looked up.
package final class ChangeCounts: Sendable {
  private let counts: [ChangeCount]

  private static var size: Int { 4_096 }

  package init() {
    counts = (0..<Self.size).map { _ in ChangeCount() }
  }

  package func incrementAll() { for count in counts { count.increment() } }

  package subscript(_ user: UserID) -> ChangeCount {
    counts[Int(UInt(bitPattern: user.hashValue) % UInt(Self.size))]
  }
}

package final class ChangeCount: Sendable {
  private let changes = Atomic(0)

  package init() {}

  package var value: Int { changes.load(ordering: .acquiring) }

  package func increment() { changes.add(1, ordering: .acquiringAndReleasing) }
}
