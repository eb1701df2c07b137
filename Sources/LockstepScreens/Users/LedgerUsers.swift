import LockstepAccounts
import LockstepCollections
import LockstepModules
import LockstepStore
import LockstepSync
import LockstepThreading

/// Reads users' states through the cache, and changes them through the ledger.
package struct LedgerUsers: ScreenUsers {
  let cache: StateCache
  let registry: RegisteredLedger
  let followed: FollowedUsers
  let ledger: Ledger
  let modules: Modules
  /// One step may cause hundreds of writes, and a user may have many screens. This limits how many
  /// of a user's writes are in the writer's queue. The others wait here. It also limits how many writes of
  /// all users run or wait. Their requests have got a response already, so no other limit counts them.
  let turns: FairShareLimiter<UserID>

  /// Makes the limiter for `turns`. A user alone gets a quarter of the places, which is enough for the actions of
  /// a request. All of them together need half of the writer's queue at most.
  package static func makeTurns() -> FairShareLimiter<UserID> {
    FairShareLimiter(name: "writes from screens", atOnce: 16, inAll: 2_048)
  }

  package init(
    cache: StateCache,
    registry: RegisteredLedger,
    followed: FollowedUsers,
    ledger: Ledger,
    modules: Modules,
    turns: FairShareLimiter<UserID>
  ) {
    self.cache = cache
    self.registry = registry
    self.followed = followed
    self.ledger = ledger
    self.modules = modules
    self.turns = turns
  }

  package func open(
    for session: LiveSession,
    from network: ClientNetwork,
    following names: Set<CollectionName>
  ) async throws -> (user: ScreenUser, language: UserLanguage) {
    // Bound before the state is read, so that no commit in between is missed.
    let published = followed.publications(of: session.user, names)
    let state = try await cache.load(session.user, from: session.networkShare(network)).state
    let registered = registry.current
    followed.remember(state, of: session.user, registered)
    let language = Self.language(state, registered)
    let found = UserSnapshot(state.collections, names, registered)
    let user = ScreenUser(session.user, FollowedState(published: published, found: found, names: names)) { actions in
      try await perform(actions, by: session, from: session.networkShare(network))
    }
    return (user, language)
  }

  /// The languages of a user, the best first. `accepted` are those of an `Accept-Language`.
  package func languages(of user: UserID, accepted: [String]) async throws -> [String] {
    Self.language(try await cache.load(user).state, registry.current).tags(accepted)
  }

  private static func language(_ state: UserState, _ registered: RegisteredDefaults) -> UserLanguage {
    UserSnapshot(state.collections, [Suite.collection("standard")], registered).language
  }

  private func perform(_ actions: [ModuleAction], by session: LiveSession, from network: Int?) async throws {
    _ = try await turns.run(for: session.user, from: network) {
      let budget = WorkBudget(steps: WorkBudget.ofRequest)
      let transaction = Transaction(
        user: session.user,
        session: session,
        actions: try read(actions, budget),
        network: network,
        // Without an idempotency key, no response is kept.
        response: { _ in StoredResponse(status: 200, fields: [], body: nil) },
        refusal: { _ in nil },
        steps: budget.steps
      )
      let reservation = ledger.reserve(session.user)
      if reservation.needsLoading { try await ledger.load(reservation, from: network) }
      return try await ledger.commit(transaction, reservation)
    }
  }

  /// Reads actions, which share the steps of a request. Throws `TooMuchWorkError`.
  private func read(_ actions: [ModuleAction], _ budget: WorkBudget) throws -> [UserAction] {
    let result = Result {
      var read: [UserAction] = []
      for action in actions where !budget.isExhausted {
        read.append(try action.read(by: { modules[$0] }, budget: budget))
      }
      return read
    }
    // With an exhausted budget, the result or the refusal means nothing.
    if budget.isExhausted { throw TooMuchWorkError() }
    return try result.get()
  }
}

extension LedgerUsers: CommitObserver {
  package func stateCommitted(_ state: UserState, of user: UserID) {
    followed.publish(state, of: user, registry.current) {
      cache.state(of: user).map { $0.state.revision <= state.revision } ?? true
    }
  }

  package func registeredDefaultsCommitted(_ registered: RegisteredDefaults) { followed.publish(registered) }
}

extension ModuleAction {
  /// Reads the action by its module. Throws a refusal if there is no such action, or if the payload is
  /// not valid. If there is a budget, it may be exhausted after that. Then the result means nothing.
  func read(
    by find: (_ module: String) -> UserModule?,
    budget: WorkBudget? = nil
  ) throws(Refusal) -> UserAction {
    guard let found = find(module), var action = try found.read(type, payload, budget: budget) else {
      throw .notFound("There is no action \(type) of \(module).")
    }
    action.version = found.version
    return action
  }
}
