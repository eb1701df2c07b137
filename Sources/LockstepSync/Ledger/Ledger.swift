import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime
import Synchronization

/// The only part that changes users' states.
///
/// Transactions run on the writer thread, in the order of submission. The reactors decide on the
/// actions with the latest state, and the mutations go to the tables and the journal. Transactions
/// that wait are committed together. Then each new state is published and each caller gets its
/// outcome, in the same order, while the next transactions run.
///
/// If possible, the caller's thread decides before the transaction is queued, because the writer
/// thread has the least time to spare. The writer thread uses the decision only if its state is
/// still the latest one. A decision that takes long is made by the encoder threads.
package final class Ledger: Sendable {
  let registry: RegisteredLedger
  private let writer: WriteSetWriter
  private let cache: StateCache
  private let states: ModuleTables
  private let now: @Sendable () -> Timestamp
  private let decided = DecidedStates()
  private let tickets = Atomic<UInt64>(0)
  private let inFlightKeys: InFlightKeys
  private let maintenance: HistoryMaintenance
  private let eras: EraSource
  private let sessionEndings: SessionEndingTracker
  private let background: BackgroundEncoder
  let longTransactions = FairShareLimiter<UserID>(name: "a user's long writes", atOnce: 1, waiting: 64)
  private let observer: any CommitObserver

  package init(
    writer: WriteSetWriter,
    cache: StateCache,
    states: ModuleTables,
    registry: RegisteredLedger,
    maintenance: HistoryMaintenance,
    sessionEndings: SessionEndingTracker,
    background: BackgroundEncoder,
    _ shared: LedgerEnvironment
  ) {
    self.writer = writer
    self.cache = cache
    self.states = states
    self.registry = registry
    self.maintenance = maintenance
    self.sessionEndings = sessionEndings
    self.background = background
    (inFlightKeys, eras) = (shared.inFlightKeys, shared.eras)
    (now, observer) = (shared.now, shared.observer)
  }

  /// Another number after each failover of the database that may have lost commits.
  package var history: Int { eras.history }

  /// Reserves a place for a transaction. If the reservation needs it, call `load` before `submit`.
  package func reserve(_ user: UserID) -> WriteReservation { WriteReservation(of: user, in: decided, cache: cache) }

  /// Reads the state for a reservation from the store, on a reader thread.
  package func load(_ reservation: WriteReservation, from network: Int?) async throws {
    reservation.states.fill(try await cache.load(reservation.user, from: network).state)
  }

  /// Queues a transaction. This is the only way to change a user's state.
  ///
  /// `completion` is called once, on a thread of the writer, when the transaction is on disk, was
  /// refused or has failed. The error is an `ActionRefusal`, an error of the transaction's
  /// condition, `IdempotencyKeyReusedError`, `SessionEndedError`, or the reason why the store
  /// cannot be written. If `submit` throws `IdempotencyKeyInUseError`, `PoolOverloadedError` or
  /// `PoolShutDownError`, `completion` is not called.
  ///
  /// After `LongDecisionError`, thrown or as the outcome, call `commitLong(_:)`.
  package func submit(
    _ transaction: Transaction,
    _ reservation: WriteReservation,
    completion: @escaping @Sendable (Result<Transaction.Outcome, any Error>) -> Void
  ) throws {
    // This decision probably takes long too, so an encoder thread makes it. Otherwise, a client that sends many
    // such writes would keep the event loops and the writer thread busy with decisions that run out of steps.
    if longTransactions.isWaiting(transaction.user), let (state, generation) = reservation.states.latest {
      throw LongDecisionError(state: state, generation: generation)
    }
    try submit(transaction, reservation, decideEarly(transaction, reservation), completion: completion)
  }

  /// Commits a transaction, and returns when it is on disk. Throws the errors of `submit`, and
  /// `TooMuchWorkError`.
  package func commit(
    _ transaction: Transaction,
    _ reservation: WriteReservation
  ) async throws -> Transaction.Outcome {
    do {
      return try await withCompletion { try submit(transaction, reservation, completion: $0) }
    } catch is LongDecisionError {
      return try await commitLong(transaction)
    }
  }

  /// Commits a transaction whose decision takes long, and returns when it is on disk. Throws the errors of
  /// `submit`, and `TooMuchWorkError`.
  ///
  /// An encoder thread decides, and the writer thread uses the decision if nothing has changed that it is
  /// based on. Otherwise this function starts over. This node has only one such transaction of a user under
  /// way at once. So only short writes of the same user, writes through other nodes, failed groups, and
  /// changes of registered defaults and of declarations can make it start over.
  package func commitLong(_ transaction: Transaction) async throws -> Transaction.Outcome {
    try await longTransactions.run(for: transaction.user) {
      let reservation = reserve(transaction.user)
      if reservation.needsLoading { try await load(reservation, from: transaction.network) }
      guard var latest = reservation.states.latest else { throw StaleStateError() }
      for _ in 0..<Self.longAttempts {
        let (state, generation) = latest
        let before = LedgerView(state: state, registered: registry.current)
        let decision = try await background.run(for: transaction.user, from: transaction.network) { [self] in
          try decide(transaction, before, generation, at: now(), steps: transaction.steps)
        }
        do {
          return try await withCompletion { try submit(transaction, reservation, decision, completion: $0) }
        } catch let error as LongDecisionError {
          guard let newest = reservation.states.latest else { throw StaleStateError() }
          latest = newest
          // Only the writer thread has seen what other nodes have committed.
          if error.generation == newest.generation, error.state.revision.number > newest.state.revision.number {
            latest.state = error.state
          }
        }
      }
      throw PoolOverloadedError(pool: "a user's long writes", capacity: Self.longAttempts)
    }
  }

  /// A user who writes all the time must not keep an encoder thread busy with decisions that are never used.
  private static let longAttempts = 4

  private func submit(
    _ transaction: Transaction,
    _ reservation: WriteReservation,
    _ early: Decision?,
    completion: @escaping @Sendable (Result<Transaction.Outcome, any Error>) -> Void
  ) throws {
    let (user, key) = (transaction.user, transaction.key)
    if let key { try inFlightKeys.claim(key, of: .user(user)) }
    let ticket = tickets.add(1, ordering: .relaxed).newValue
    do {
      try writer.submit(
        TransactionSubject(
          user: user,
          session: transaction.session.agent == nil ? transaction.session.id : nil,
          serviceToken: transaction.session.agent?.storedID,
          key: key,
          network: transaction.network,
          known: { reservation.states.latest?.state.revision }
        ),
        decide: { try self.run(transaction, early, on: reservation.states, $0) },
        decided: { unit in
          if let state = unit.state { reservation.states.decide(state, ticket: ticket) }
        }
      ) { result in
        // The reservation keeps the state in memory until it is published.
        let outcome = withExtendedLifetime(reservation) {
          self.publish(result, of: transaction, reservation.states, ticket)
        }
        if let key { self.inFlightKeys.release(key, of: .user(user)) }
        completion(outcome)
      }
    } catch {
      if let key { inFlightKeys.release(key, of: .user(user)) }
      throw error
    }
  }

  /// Decides on a transaction as `submit` does, and changes nothing.
  package func preview(_ transaction: Transaction, _ state: UserState) throws -> Committed {
    if transaction.session.isEnded { throw SessionEndedError() }
    let before = LedgerView(state: state, registered: registry.current)
    return try decide(transaction, before, 0, at: now(), steps: transaction.steps).result.get().committed
  }

  private final class Unit: TransactionDecision {
    let outcome: Transaction.Outcome
    /// The new state; nil if nothing changed.
    let state: UserState?
    /// By how many bytes the user's journal has grown.
    let written: Int
    let writes: WriteSet?

    init(_ outcome: Transaction.Outcome, _ change: Change?, _ writes: WriteSet?) {
      self.outcome = outcome
      self.writes = writes
      state = change?.state
      written = change?.written ?? 0
    }
  }

  private struct Change {
    let state: UserState
    let written: Int
    var writes: WriteSet
  }

  // MARK: Deciding

  /// With larger collections or actions, deciding may take long, and the caller's thread may be an
  /// event loop.
  private static let earlyBytes = 64 * 1024
  private static let earlyActionBytes = 4 * 1024

  /// Decides on the caller's thread, if the state was in memory, no other transaction of the user was
  /// reserved, and the transaction is simple. Otherwise returns nil, and the writer thread decides.
  /// Throws `LongDecisionError`.
  private func decideEarly(_ transaction: Transaction, _ reservation: WriteReservation) throws -> Decision? {
    if transaction.isLong, let (state, generation) = reservation.states.latest {
      throw LongDecisionError(state: state, generation: generation)
    }
    guard transaction.key == nil, transaction.condition == nil, transaction.actions.count == 1,
      let state = reservation.published,
      state.size(of: transaction.actions[0].collection).bytes <= Self.earlyBytes,
      transaction.actions[0].record.utf8.count <= Self.earlyActionBytes
    else { return nil }
    let before = LedgerView(state: state, registered: registry.current)
    // No other transaction of the user was reserved, so no state was lost, and the generation is 0.
    return try decide(transaction, before, 0, at: now(), steps: WorkBudget.short)
  }

  /// Decides within some steps. Throws `LongDecisionError` if the transaction needs more and may take
  /// more, and `TooMuchWorkError` if it needs more than it may take.
  private func decide(
    _ transaction: Transaction,
    _ before: LedgerView,
    _ generation: Int,
    at now: Timestamp,
    steps: Int
  ) throws -> Decision {
    if transaction.isLong, steps < transaction.steps {
      throw LongDecisionError(state: before.state, generation: generation)
    }
    let basis = basis(of: before, generation)
    let budget = WorkBudget(steps: min(steps, transaction.steps))
    var execution = TransactionExecution(
      before,
      of: transaction,
      in: basis.era.of(transaction.user),
      tables: states,
      now: now,
      budget: budget
    )
    let result = Result {
      try transaction.condition?(before)
      try execution.run()
      let after = LedgerView(state: execution.state, registered: before.registered)
      let committed = Committed(before: before, after: after, mutations: execution.mutations)
      return Decision.Result(committed: committed, writes: execution.hasChanged ? execution.writes : nil)
    }
    guard !budget.isExhausted else {
      if steps < transaction.steps { throw LongDecisionError(state: before.state, generation: generation) }
      throw TooMuchWorkError()
    }
    return Decision(basis: basis, result: result)
  }

  private func basis(of view: LedgerView, _ generation: Int) -> Decision.Basis {
    Decision.Basis(
      state: view.state.revision,
      generation: generation,
      registered: view.registered.revision,
      era: eras.current,
      modules: states.modules.current.revision
    )
  }

  // MARK: On the writer thread

  private func run(
    _ transaction: Transaction,
    _ early: Decision?,
    on states: DecidedStates.Entry,
    _ facts: StoreFacts
  ) throws -> Unit {
    try check(transaction.session, facts)
    let now = now()
    guard let key = transaction.key else {
      let (committed, change) = try self.change(transaction, early, on: states, facts, at: now)
      return Unit(.done(committed), change, change?.writes)
    }
    if let known = try facts.response(to: key, of: transaction.user, at: now) {
      return Unit(.recorded(KeyedResponse(response: known, isReplay: true)), nil, nil)
    }
    var change: Change?
    let response: StoredResponse
    do {
      let committed: Committed
      (committed, change) = try self.change(transaction, early, on: states, facts, at: now)
      response = transaction.response(committed)
    } catch {
      guard let refused = transaction.refusal(error) else { throw error }
      response = refused
    }
    let origin = transaction.session.agent == nil ? change?.state.revision : nil
    var writes = change?.writes ?? WriteSet(user: transaction.user)
    writes.record = ResponseRecord(
      transaction.kept(response, change != nil),
      to: key,
      at: now,
      origin.map { KeyOrigin(session: transaction.session.id, revision: $0) }
    )
    return Unit(.recorded(KeyedResponse(response: response)), change, writes)
  }

  /// Refuses a transaction of an ended session, even if only the store knows that the session has
  /// ended.
  private func check(_ session: LiveSession, _ facts: StoreFacts) throws {
    // Read before `isEnded`, because a write that is no longer under way has ended its sessions in
    // memory.
    let mayHaveEnded = facts.isLocked || sessionEndings.areUnderWay
    if session.isEnded { throw SessionEndedError() }
    if let agent = session.agent {
      if let id = agent.storedID, try !facts.hasServiceToken(id) { throw agent.noteDeletion() }
      // A service token has no session that ends with the user.
      guard try facts.hasUser(session.user) else { throw SessionEndedError() }
      return
    }
    if mayHaveEnded, try !facts.hasSession(session.id, of: session.user) { throw SessionEndedError() }
  }

  private func change(
    _ transaction: Transaction,
    _ early: Decision?,
    on decided: DecidedStates.Entry,
    _ facts: StoreFacts,
    at now: Timestamp
  ) throws -> (Committed, Change?) {
    // An earlier transaction has found that the state in memory is not in the user's history.
    guard let (known, generation) = decided.latest else { throw StaleStateError() }
    // The condition may have been prepared with a state that was lost in a failover.
    if let history = transaction.history, history != eras.history { throw StaleStateError() }
    let latest = try facts.latest(known)
    // In PostgreSQL, a change of registered defaults is in a transaction of its own, which may fail.
    let registered = facts.isLocked ? registry.current : registry.latest
    let before = LedgerView(state: latest, registered: registered)
    let decision =
      if let early, early.basis == basis(of: before, generation) { early } else {
        try decide(transaction, before, generation, at: now, steps: WorkBudget.short)
      }
    let result = try decision.result.get()
    let committed = result.committed
    guard let writes = result.writes else { return (committed, nil) }
    let (state, written) = (committed.after.state, committed.after.state.written - latest.written)
    return (committed, Change(state: state, written: written, writes: writes))
  }

  // MARK: After the commit

  /// Publishes the state that a unit has committed. Returns the outcome for the caller.
  private func publish(
    _ result: Result<Unit, any Error>,
    of transaction: Transaction,
    _ decided: DecidedStates.Entry,
    _ ticket: UInt64
  ) -> Result<Transaction.Outcome, any Error> {
    let user = transaction.user
    let committed = try? result.get().state
    defer { decided.finish(ticket: ticket, committed: committed) }
    if case .failure(let error) = result, error is StaleStateError {
      decided.forget()
      cache.forget(user)
    }
    return result.map { unit in
      if let record = unit.writes?.record { maintenance.noteRecord(of: user, bytes: record.bytes) }
      if let state = unit.state {
        if let key = transaction.key {
          transaction.session.note(SessionKey(revision: state.revision, key: key.key))
        }
        cache.publish(state, of: user)
        observer.stateCommitted(state, of: user)
        maintain(unit, state, of: user)
      }
      return unit.outcome
    }
  }

  private func maintain(_ unit: Unit, _ state: UserState, of user: UserID) {
    for (_, entry) in unit.writes?.actions ?? [] {
      guard let collection = state.collections[entry.collection] else { continue }
      let (bytes, revision) = (entry.mutations.utf8.count, state.revision)
      maintenance.noteMutations(of: user, in: entry.collection, state: collection, bytes: bytes, revision: revision)
    }
    maintenance.noteCommit(of: user, state, written: unit.written)
  }
}
