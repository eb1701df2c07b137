import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime
import Synchronization

/// Adds snapshots, so that past states are rebuilt quickly, prunes the journal, and limits the records of
/// idempotency keys.
///
/// A user's own transactions trigger this work. For inactive users, `HistorySweep` does. The thread
/// for long reads does the work that takes longer for larger states, and the writer thread only
/// writes the result.
package final class HistoryMaintenance: Sendable {
  private static let revisionsBetweenPruning = 64
  /// Pruning is also due each time the history has grown by its limit in bytes, divided by this.
  private static let partBetweenPruning = 8
  /// The records of a user's keys are limited each time they have grown by their limit divided by this.
  private static let partBetweenLimiting = 32
  /// A snapshot is due when the mutations since the last snapshot have more bytes than this, and
  /// more bytes than the collection.
  private static let leastMutationBytes = 64 * 1024
  /// At this many counted collections, all counts restart at zero. Then snapshots come later.
  private static let countedCollections = 100_000
  /// At this many waiting users, work for others waits until they write again.
  private static let dueUsers = 100_000

  /// The users for whom there is work.
  private struct Due: Sendable {
    /// Those whose history is to be pruned, and whether a step may be shorter than usual.
    var pruning: [UserID: Bool] = [:]
    /// Those whom `HistorySweep` has queued, until their history is pruned as far as the policy allows.
    var swept: Set<UserID> = []
    /// Those whose records of idempotency keys may take too much.
    var records: Set<UserID> = []
    /// Whether a task does the work.
    var isRunning = false

    var isEmpty: Bool { pruning.isEmpty && records.isEmpty }
    var isFull: Bool { pruning.count + records.count >= HistoryMaintenance.dueUsers }
  }

  private struct Key: Hashable {
    let user: UserID
    let collection: CollectionName
  }

  private let pruning: JournalPruner
  private let readers: StoreReaders
  private let writer: StoreWriter
  private let now: @Sendable () -> Timestamp
  private let executor: (any TaskExecutor)?
  private let written = Atomic(0)
  private let pruned = Atomic(0)
  private let mutationBytes = LockedState<[Key: Int]>([:])
  private let recordBytes = LockedState<[UserID: Int]>([:])
  private let due = LockedState(Due())

  package init(
    pruning: JournalPruner,
    readers: StoreReaders,
    writer: StoreWriter,
    now: @escaping @Sendable () -> Timestamp,
    executor: (any TaskExecutor)? = nil
  ) {
    self.pruning = pruning
    self.readers = readers
    self.writer = writer
    self.now = now
    self.executor = executor
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
      return { connection in
        // After a failover of the database, the revision may be lost.
        guard try Journal(connection: connection).knows(revision, of: user) else { return }
        try Snapshots(connection: connection).keep(text, as: name, of: user, at: revision)
      }
    }
  }

  /// Notes a transaction that wrote this many bytes of history. Call this in the order of the
  /// transactions.
  func noteCommit(of user: UserID, _ state: UserState, written: Int) {
    self.written.add(written, ordering: .relaxed)
    let part = max(1, policy.bytes / Self.partBetweenPruning)
    let hasGrown = state.written / part != (state.written - written) / part
    guard hasGrown || state.revision.number % Self.revisionsBetweenPruning == 0 else { return }
    addWork { $0.pruning[user] = $0.pruning[user] ?? false }
  }

  /// Prunes the history of users as far as the policy allows, in short steps too.
  func prune(_ users: [UserID]) {
    if users.isEmpty { return }
    addWork { due in
      for user in users { due.pruning[user] = true }
      due.swept.formUnion(users)
    }
  }

  /// Notes that the response to an idempotency key of a user was recorded. `bytes` are those of the record.
  package func noteRecord(of user: UserID, bytes: Int) {
    let isDue = recordBytes.withLock { counted in
      if counted.count >= Self.countedCollections { counted = [:] }
      let sum = counted[user, default: 0] + bytes
      let isDue = sum > policy.keyBytes / Self.partBetweenLimiting
      counted[user] = isDue ? nil : sum
      return isDue
    }
    if isDue { addWork { $0.records.insert(user) } }
  }

  private func addWork(_ add: @Sendable (inout Due) -> Void) {
    let begins = due.withLock { due in
      if !due.isFull { add(&due) }
      defer { due.isRunning = true }
      return !due.isRunning
    }
    if begins { Task(executorPreference: executor) { await self.work() } }
  }

  /// Whether any of this work is under way.
  package var isPruning: Bool { due.withLock { $0.isRunning } }

  /// Whether users of `prune(_:)` are still to be pruned.
  var isSweeping: Bool { due.withLock { !$0.swept.isEmpty } }

  /// Does one step for each due user, one after the other, because a plan may take as much memory
  /// as the user's state. If a queue is full or the work fails, a later transaction or a later round of
  /// `HistorySweep` tries again.
  private func work() async {
    while true {
      let now = due.withLock { due in
        let now = due
        due = Due(swept: due.swept, isRunning: !due.isEmpty)
        return now
      }
      if now.isEmpty { return }
      for (user, allowsPart) in now.pruning {
        let hasPruned = (try? await pruneStep(of: user, allowsPart)) ?? false
        due.withLock { due in
          if hasPruned, !due.isFull {
            due.pruning[user] = due.pruning[user] ?? false || allowsPart
            return
          }
          if allowsPart { due.swept.remove(user) }
        }
      }
      for user in now.records { try? await limitRecords(of: user) }
    }
  }

  /// Returns whether revisions were pruned. Then there may be more.
  private func pruneStep(of user: UserID, _ allowsPart: Bool) async throws -> Bool {
    let (pruning, now, owner) = (pruning, now(), user.writeOwner)
    let begun = try await readers.read(length: .long) {
      try pruning.plan(user, now: now, allowsPart: allowsPart, in: $0)?.takingSnapshots()
    }
    guard var (plan, snapshots) = begun else { return false }
    while !plan.states.isEmpty {
      let isValid = try await writer.write(of: owner) { [plan, snapshots] in try plan.write(snapshots, in: $0) }
      guard isValid else { return false }
      (plan, snapshots) = try await readers.read(length: .long) { [plan] _ in plan.takingSnapshots() }
    }
    let gone = try await writer.write(of: owner) { [plan, snapshots] in try plan.finish(snapshots, in: $0) }
    pruned.add(gone, ordering: .relaxed)
    let parts = try await readers.read(length: .long) { try pruning.obsoleteSnapshots(of: user, in: $0) }
    for names in parts {
      try await writer.write(of: owner) { connection in
        for name in names { try Snapshots(connection: connection).delete(name, of: user) }
      }
    }
    return gone > 0
  }

  /// Deletes a user's oldest records of idempotency keys above their limit, in short transactions.
  private func limitRecords(of user: UserID) async throws {
    let limit = policy.keyBytes
    let parts = try await readers.read(length: .long) {
      try IdempotencyRecords(connection: $0).excess(of: user, limit: limit)
    }
    for part in parts {
      try await writer.write(of: user.writeOwner) { connection in
        guard try connection.lock(user) else { return }
        try IdempotencyRecords(connection: connection).delete(part, of: user)
      }
    }
  }

  private var policy: HistoryPolicy { pruning.policy }

  private func isSnapshotDue(_ key: Key, _ state: CollectionState, _ bytes: Int) -> Bool {
    mutationBytes.withLock { counted in
      if counted.count >= Self.countedCollections { counted = [:] }
      let sum = counted[key, default: 0] + bytes
      let isDue = sum > max(Self.leastMutationBytes, state.bytes)
      counted[key] = isDue ? nil : sum
      return isDue
    }
  }

  private typealias Unit = @Sendable (StoreConnection) throws -> Void

  /// Runs `body` on the long reader, and the unit that it returns on the writer thread. If a queue
  /// is full or the work fails, a later transaction tries again.
  private func prepare(for user: UserID, _ body: @escaping @Sendable (StoreConnection) throws -> Unit?) {
    try? readers.submit(length: .long, body) { [writer] result in
      guard case .success(let unit?) = result else { return }
      let write: Unit = { connection in
        // The user may have been erased meanwhile. A unit must not fail after its first write.
        if try connection.lock(user) { try unit(connection) }
      }
      try? writer.submit(write, of: user.writeOwner) { _ in }
    }
  }
}
