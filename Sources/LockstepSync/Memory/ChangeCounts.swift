import LockstepCollections
import Synchronization

/// Counts the changes of users' states, so that a kept response can be checked without looking up
/// its user's state. A look-up takes longer, and its memory is usually not in the CPU's cache.
///
/// Many users share a count. If the count has not changed since the last look-up, neither has the
/// state. Otherwise the state must be looked up.
final class ChangeCounts: Sendable {
  private let counts: [ChangeCount]

  private static var size: Int { 4_096 }

  init() {
    counts = (0..<Self.size).map { _ in ChangeCount() }
  }

  subscript(_ user: UserID) -> ChangeCount { counts[Int(UInt(bitPattern: user.hashValue) % UInt(Self.size))] }
}

final class ChangeCount: Sendable {
  private let changes = Atomic(0)

  var value: Int { changes.load(ordering: .acquiring) }

  func increment() { changes.add(1, ordering: .acquiringAndReleasing) }
}

/// Tells whether a user's state is still at a revision.
package struct RevisionWatch: ~Copyable, Sendable {
  private let revision: Revision
  private let count: ChangeCount
  /// The count at which the state was last known to be at the revision.
  private let known = Atomic(-1)

  init(_ revision: Revision, _ count: ChangeCount) {
    self.revision = revision
    self.count = count
  }

  /// Whether the state is certainly still at the revision. False if the state is not in memory and
  /// the count has changed.
  package func holds(for user: UserID, in cache: StateCache) -> Bool {
    // The count is read before the state. So if the state changes in between, the count differs the
    // next time.
    let now = count.value
    if now == known.load(ordering: .relaxed) { return true }
    guard cache.revision(of: user) == revision else { return false }
    known.store(now, ordering: .relaxed)
    return true
  }
}
