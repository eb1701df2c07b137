import LockstepAccounts
import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime
import Synchronization

/// Where users' states change: the one way in.
///
/// A transaction runs on the writer's thread, in the order in which transactions came: its actions are decided by their
/// reactors against the latest state, what they decide is written to the tables and to the journal, and all of it is
/// committed together with whatever else waits. Only then is the new state published, and the client told: in the same order,
/// while the next transactions may be at work.
package final class Ledger: Sendable {
  let registry: RegisteredLedger
  private let writer: DatabaseWriter
  private let cache: StateCache
  private let states: ModuleTables
  private let now: @Sendable () -> Timestamp
  /// The last state that was decided for a user, as long as it isn't published yet: it isn't on disk, or just came there.
  private let pending = LockedState<[UserID: Pending]>([:])
  /// Tells transactions apart.
  private let tickets = Atomic<UInt64>(0)
  private let keysInUse: InFlightKeys
  private let upkeep: HistoryMaintenance
  private let era: Era
  private let sessionEndings: SessionEndingTracker
  private let announce: @Sendable (UserID, UserState) -> Void

  /// - Parameters:
  ///   - writer: Who writes.
  ///   - cache: Where committed states are published.
  ///   - states: The tables.
  ///   - registry: What is registered for everybody.
  ///   - keysInUse: The idempotency keys at work.
  ///   - upkeep: Who looks after the history.
  ///   - era: What marks the revisions that are made.
  ///   - sessionEndings: Whether sessions may be ending.
  ///   - now: The time.
  ///   - announce: Told of each committed state, by one thread at a time, after it was published.
  package init(
    writer: DatabaseWriter,
    cache: StateCache,
    states: ModuleTables,
    registry: RegisteredLedger,
    keysInUse: InFlightKeys = InFlightKeys(),
    upkeep: HistoryMaintenance,
    era: Era,
    sessionEndings: SessionEndingTracker,
    now: @escaping @Sendable () -> Timestamp,
    announce: @escaping @Sendable (UserID, UserState) -> Void = { _, _ in }
  ) {
    self.writer = writer
    self.cache = cache
    self.states = states
    self.registry = registry
    self.keysInUse = keysInUse
    self.upkeep = upkeep
    self.era = era
    self.sessionEndings = sessionEndings
    self.now = now
    self.announce = announce
  }

  /// Does what a transaction asks for, and returns when it's on disk.
  ///
  /// - Throws: What refused it: a `ActionRefusal`, what its condition throws,
  ///   `IdempotencyKeyInUseError`, `IdempotencyKeyReusedError`, `SessionEndedError`; or why it couldn't be written.
  package func commit(_ transaction: Transaction) async throws -> Transaction.Outcome {
    guard let key = transaction.key else { return try await submit(transaction) }
    return try await keysInUse.hold(key, of: .user(transaction.user)) { try await submit(transaction) }
  }

  private func submit(_ transaction: Transaction) async throws -> Transaction.Outcome {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try submit(transaction) { continuation.resume(with: $0) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Queues a transaction. One with a key is committed by `commit`, which sees to it that no other with that key is at work.
  ///
  /// - Parameters:
  ///   - transaction: What is asked for.
  ///   - settled: Told on the writer's thread, once, when it's on disk, or what refused it, or why it couldn't be written.
  /// - Throws: `WorkerPool.Overloaded`, `WorkerPool.ShutDown`.
  package func submit(
    _ transaction: Transaction,
    settled: @escaping @Sendable (Result<Transaction.Outcome, any Error>) -> Void
  ) throws {
    let ticket = tickets.add(1, ordering: .relaxed).newValue
    try writer.submit(
      {
        let unit = try self.run(transaction, in: $0)
        // Nothing of this unit can fail any more without its group.
        if let state = unit.change?.state {
          self.pending.withLock { $0[transaction.user] = Pending(state: state, ticket: ticket) }
        }
        return unit
      },
      // A single action is decided before anything is written; and with a key the answer to a refusal is written.
      throwsUnwritten: transaction.actions.count == 1 && transaction.key == nil,
      of: transaction.user.writeOwner,
      settled: { settled(self.settle($0, of: transaction.user, ticket)) }
    )
  }

  private struct Pending: Sendable {
    let state: UserState
    /// The transaction's.
    let ticket: UInt64
  }

  /// What a unit did.
  private struct Unit: Sendable {
    let outcome: Transaction.Outcome
    /// What changed, where anything did.
    var change: Change?
  }

  private struct Change: Sendable {
    let state: UserState
    let mutationBytes: [(collection: CollectionName, bytes: Int)]
    /// How much was journaled.
    let written: Int
  }

  // MARK: On the writer's thread

  private func run(_ transaction: Transaction, in connection: SQLiteConnection) throws -> Unit {
    try check(transaction.session, in: connection)
    let now = now()
    guard let key = transaction.key else {
      let (committed, change) = try self.change(transaction, at: now, in: connection)
      return Unit(outcome: .done(committed), change: change)
    }
    let records = IdempotencyRecords(connection: connection)
    if let answer = try records.answer(to: key, of: .user(transaction.user), now: now) {
      return Unit(outcome: .answered(KeyedResponse(answer: answer, isReplay: true)))
    }
    do {
      let (committed, change) = try self.change(transaction, at: now, in: connection)
      let answer = transaction.answer(committed)
      try records.keep(transaction.kept(answer), to: key, of: .user(transaction.user), now: now)
      return Unit(outcome: .answered(KeyedResponse(answer: answer)), change: change)
    } catch {
      // A refusal is an answer too: the same request again must not be judged by another state.
      guard let refusal = transaction.refusal(error) else { throw error }
      try records.keep(transaction.kept(refusal), to: key, of: .user(transaction.user), now: now)
      return Unit(outcome: .answered(KeyedResponse(answer: refusal)))
    }
  }

  /// Refuses what a session asks for that has ended, also where only the store knows that yet.
  private func check(_ session: LiveSession, in connection: SQLiteConnection) throws {
    // In this order: what isn't under way any more has ended in memory.
    let mayHaveEnded = sessionEndings.areUnderWay
    if session.isEnded { throw SessionEndedError() }
    if mayHaveEnded, try !SessionRecords(connection: connection).has(session.id, of: session.user) {
      throw SessionEndedError()
    }
  }

  private func change(
    _ transaction: Transaction,
    at now: Timestamp,
    in connection: SQLiteConnection
  ) throws -> (Committed, Change?) {
    let registered = registry.latest
    let before = LedgerView(state: try latestState(of: transaction.user, in: connection), registered: registered)
    try transaction.condition(before)
    var execution = TransactionExecution(
      before,
      of: transaction,
      in: era.of(transaction.user),
      tables: states,
      now: now
    )
    try execution.run()
    let after = LedgerView(state: execution.state, registered: registered)
    let committed = Committed(before: before, after: after, mutations: execution.mutations)
    guard execution.hasChanged else { return (committed, nil) }
    try states.apply(execution.writeSet, to: connection)
    let written = execution.state.written - before.state.written
    return (committed, Change(state: execution.state, mutationBytes: execution.mutationBytes, written: written))
  }

  private func latestState(of user: UserID, in connection: SQLiteConnection) throws -> UserState {
    if let pending = pending.withLock({ $0[user] }) { return pending.state }
    if let hot = cache.state(of: user) { return hot.state }
    return try states.load(user, from: connection)
  }

  // MARK: When it's on disk, or isn't

  private func settle(
    _ result: Result<Unit, any Error>,
    of user: UserID,
    _ ticket: UInt64
  ) -> Result<Transaction.Outcome, any Error> {
    defer { forget(ticket, of: user) }
    return result.map { unit in
      if let change = unit.change {
        cache.publish(change.state, of: user, mutationBytes: change.mutationBytes.reduce(0) { $0 + $1.bytes })
        announce(user, change.state)
        lookAfter(change, of: user)
      }
      return unit.outcome
    }
  }

  /// From now on the state of this transaction is where all look for it, or nowhere, where its group failed. That of a later
  /// one, which was built on it, stays: a group that failed was told before any other unit ran.
  private func forget(_ ticket: UInt64, of user: UserID) {
    pending.withLock { if $0[user]?.ticket == ticket { $0[user] = nil } }
  }

  private func lookAfter(_ change: Change, of user: UserID) {
    for (name, bytes) in change.mutationBytes {
      guard let state = change.state.collections[name] else { continue }
      upkeep.noteFacts(of: user, in: name, state: state, bytes: bytes, revision: change.state.revision)
    }
    upkeep.noteCommit(of: user, change.state, written: change.written)
  }
}
