import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime
import Synchronization

/// What is done behind users' backs for their history: snapshots, so that the past is quickly rebuilt, and pruning.
///
/// It's set off by their own transactions, so nothing runs for those who aren't there, and needs no clock to wake it.
package final class HistoryMaintenance: Sendable {
  /// After so many revisions of a user a step of pruning is tried,
  private static let revisionsBetweenPruning = 64
  /// and each time that the history has grown by this part of what it may take.
  private static let partBetweenPruning = 8
  /// A collection gets a snapshot when its facts since the last one took more than itself, and more than this many bytes.
  private static let leastFactBytes = 64 * 1024
  /// Collections whose facts are counted at a time. Beyond it counting begins anew: a snapshot comes later then.
  private static let countedCollections = 100_000

  private struct Key: Hashable {
    let user: UserID
    let collection: CollectionName
  }

  private let pruning: JournalPruner
  private let writer: DatabaseWriter
  private let now: @Sendable () -> Timestamp
  private let written = Atomic(0)
  private let pruned = Atomic(0)
  private let mutationBytes = LockedState<[Key: Int]>([:])

  package init(pruning: JournalPruner, writer: DatabaseWriter, now: @escaping @Sendable () -> Timestamp) {
    self.pruning = pruning
    self.writer = writer
    self.now = now
  }

  /// How many bytes of history have been written since the server started, and how many revisions of it have gone.
  package var metrics: (writtenBytes: Int, prunedRevisions: Int) {
    (written.load(ordering: .relaxed), pruned.load(ordering: .relaxed))
  }

  /// Told of each collection that a committed transaction changed, in order.
  ///
  /// - Parameters:
  ///   - user: Whose it is.
  ///   - name: The collection's.
  ///   - state: The collection after it.
  ///   - bytes: How long the facts were.
  ///   - revision: The user's, after it.
  func noteMutations(of user: UserID, in name: CollectionName, state: CollectionState, bytes: Int, revision: Revision) {
    guard isSnapshotDue(Key(user: user, collection: name), state, bytes) else { return }
    submit(for: user) { try Snapshots(connection: $0).keep(state, as: name, of: user, at: revision) }
  }

  /// Told of each committed transaction, in order.
  ///
  /// - Parameters:
  ///   - user: Whose it is.
  ///   - state: The user's state after it.
  ///   - written: How much of the history it is.
  func noteCommit(of user: UserID, _ state: UserState, written: Int) {
    self.written.add(written, ordering: .relaxed)
    let part = max(1, pruning.policy.bytes / Self.partBetweenPruning)
    let hasGrown = state.written / part != (state.written - written) / part
    guard hasGrown || state.revision.number % Self.revisionsBetweenPruning == 0 else { return }
    let (pruning, now) = (pruning, now())
    submit(for: user) { [self] in
      let gone = try pruning.prune(user, now: now, in: $0)
      pruned.add(gone, ordering: .relaxed)
    }
  }

  private func isSnapshotDue(_ key: Key, _ state: CollectionState, _ bytes: Int) -> Bool {
    mutationBytes.withLock { counted in
      if counted.count >= Self.countedCollections { counted = [:] }
      let sum = counted[key, default: 0] + bytes
      let isDue = sum > max(Self.leastFactBytes, state.bytes)
      counted[key] = isDue ? nil : sum
      return isDue
    }
  }

  /// What doesn't find room, or fails, is tried again with a later transaction.
  private func submit(for user: UserID, _ unit: @escaping @Sendable (SQLiteConnection) throws -> Void) {
    try? writer.submit(unit, of: user.writeOwner) { _ in }
  }
}
