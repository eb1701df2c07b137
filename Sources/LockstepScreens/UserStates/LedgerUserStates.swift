import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync
import LockstepThreading

/// Users' states in the store: read from memory, and changed through the ledger.
package struct LedgerUserStates: UserStates {
  let cache: StateCache
  let registry: RegisteredLedger
  let followed: FollowedUsers
  let ledger: Ledger
  let favorites: FavoritesModule
  let profile: ProfileModule
  /// One step may cause hundreds of writes, and a user may have many screens. This limits the
  /// concurrent writes of a user to as many as the writer thread accepts; the others wait.
  let turns: FairShareLimiter<UserID>

  package init(
    cache: StateCache,
    registry: RegisteredLedger,
    followed: FollowedUsers,
    ledger: Ledger,
    favorites: FavoritesModule,
    profile: ProfileModule,
    turns: FairShareLimiter<UserID>
  ) {
    self.cache = cache
    self.registry = registry
    self.followed = followed
    self.ledger = ledger
    self.favorites = favorites
    self.profile = profile
    self.turns = turns
  }

  package func follow(_ session: LiveSession) async throws -> FollowedState {
    // Bound before the state is read, so that no commit in between is missed.
    let published = followed.publications(of: session.user)
    let hot = try await cache.load(session.user)
    followed.remember(hot.state, of: session.user)
    return FollowedState(published, found: UserSnapshot(hot.state, registry.current))
  }

  package func toggleFavorite(_ id: String, _ content: FavoriteContent, by session: LiveSession)
    async throws(StateChangeError)
  {
    try await commit(favorites.action(.toggle(id: id, content)), by: session)
  }

  package func saveProfile(_ fields: [String: String], by session: LiveSession) async throws(StateChangeError) {
    let fields = JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
    try await commit(profile.action(.save(fields)), by: session)
  }

  private func commit(_ action: UserAction, by session: LiveSession) async throws(StateChangeError) {
    let transaction = Transaction(
      user: session.user,
      session: session,
      actions: [action],
      // Without an idempotency key, no response is kept.
      answer: { _ in StoredResponse(status: 200, fields: [], body: nil) },
      refusal: { _ in nil }
    )
    do {
      _ = try await turns.run(for: session.user) {
        try await withCompletion { try ledger.submit(transaction, completion: $0) }
      }
    } catch {
      throw StateChangeError(message: Self.message(for: error))
    }
  }

  private static func message(for error: any Error) -> String {
    switch error {
    case let refused as ActionRefusal:
      switch refused.refusal {
      case .invalid(let faults): faults.map(\.detail).joined(separator: " ")
      case .notFound(let detail), .conflict(let detail), .quotaExceeded(let detail): detail
      }
    case is SessionEndedError: "The session has ended: log in again."
    default: "The change cannot be saved at the moment. Try again."
    }
  }
}
