import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime
import Synchronization

/// Adds snapshots, so that past states are rebuilt quickly, and prunes the journal.
///
/// A user's own transactions trigger this work. So nothing runs for inactive users. The thread
/// for long reads does the work that takes longer for larger states, and the writer thread only
/// writes the result.
package final class HistoryMaintenance: Sendable {
  private static let revisionsBetweenPruning = 64
  /// Pruning is also due each time the history has grown by its limit in bytes, divided by this.
  private static let partBetweenPruning = 8
  /// A snapshot is due when the mutations since the last snapshot have more bytes than this, and
  /// more bytes than the collection.
  private static let leastMutationBytes = 64 * 1024
  /// At this many counted collections, all counts restart at zero. Then snapshots come later.
  private static let countedCollections = 100_000

  private struct Key: Hashable {
    let user: UserID
    let collection: CollectionName
  }

  private let pruning: JournalPruner
  private let readers: ReaderPool
  private let writer: DatabaseWriter
  private let now: @Sendable () -> Timestamp
  private let written = Atomic(0)
  private let pruned = Atomic(0)
  private let mutationBytes = LockedState<[Key: Int]>([:])

  package init(
    pruning: JournalPruner,
    readers: ReaderPool,
    writer: DatabaseWriter,
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.pruning = pruning
    self.readers = readers
    self.writer = writer
    self.now = now
  }

  /// The metrics since the server started.
  package var metrics: (writtenBytes: Int, prunedRevisions: Int) {
    (written.load(ordering: .relaxed), pruned.load(ordering: .relaxed))
  }

  /// Notes a transaction's mutations of a collection. `state` is the collection after them. Call
  /// this in the order of the transactions.
  func noteMutations(of user: UserID, in name: CollectionName, state: CollectionState, bytes: Int, revision: Revision) {
    guard isSnapshotDue(Key(user: user, collection: name), state, bytes) else { return }
    prepare(for: user) { _ in
      let text = state.snapshotText
      return { try Snapshots(connection: $0).keep(text, as: name, of: user, at: revision) }
    }
  }

  /// Notes a transaction that wrote this many bytes of history. Call this in the order of the
  /// transactions.
  func noteCommit(of user: UserID, _ state: UserState, written: Int) {
    self.written.add(written, ordering: .relaxed)
    let part = max(1, pruning.policy.bytes / Self.partBetweenPruning)
    let hasGrown = state.written / part != (state.written - written) / part
    guard hasGrown || state.revision.number % Self.revisionsBetweenPruning == 0 else { return }
    let (pruning, now) = (pruning, now())
    prepare(for: user) { [weak self] connection in
      guard let plan = try pruning.plan(user, now: now, in: connection) else { return nil }
      return { [weak self] in
        let gone = try plan.run(in: $0)
        self?.pruned.add(gone, ordering: .relaxed)
      }
    }
  }

  private func isSnapshotDue(_ key: Key, _ state: CollectionState, _ bytes: Int) -> Bool {
    mutationBytes.withLock { counted in
      if counted.count >= Self.countedCollections { counted = [:] }
      let sum = counted[key, default: 0] + bytes
      let isDue = sum > max(Self.leastMutationBytes, state.bytes)
      counted[key] = isDue ? nil : sum
      return isDue
    }
  }

  private typealias Unit = @Sendable (SQLiteConnection) throws -> Void

  /// Runs `body` on the long reader, and the unit that it returns on the writer thread. If a queue
  /// is full or the work fails, a later transaction tries again.
  private func prepare(for user: UserID, _ body: @escaping @Sendable (SQLiteConnection) throws -> Unit?) {
    try? readers.submit(length: .long, body) { [writer] result in
      guard case .success(let unit?) = result else { return }
      try? writer.submit(unit, of: user.writeOwner) { _ in }
    }
  }
}
