import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync
import LockstepThreading

/// Reads users' states through the cache, and changes them through the ledger.
package struct LedgerUserStates: UserStates {
  let cache: StateCache
  let registry: RegisteredLedger
  let followed: FollowedUsers
  let ledger: Ledger
  let modules: [UserModule]
  /// One step may cause hundreds of writes, and a user may have many screens. This limits how many
  /// of a user's writes are in the writer's queue. The others wait here.
  let turns: FairShareLimiter<UserID>

  package init(
    cache: StateCache,
    registry: RegisteredLedger,
    followed: FollowedUsers,
    ledger: Ledger,
    modules: [UserModule],
    turns: FairShareLimiter<UserID>
  ) {
    self.cache = cache
    self.registry = registry
    self.followed = followed
    self.ledger = ledger
    self.modules = modules
    self.turns = turns
  }

  package func follow(_ session: LiveSession) async throws -> FollowedState {
    // Bound before the state is read, so that no commit in between is missed.
    let published = followed.publications(of: session.user)
    let state = try await cache.load(session.user).state
    followed.remember(state, of: session.user)
    return FollowedState(published: published, found: UserSnapshot(UserSnapshot.OwnValues(state), registry.current))
  }

  package func toggleFavorite(_ id: String, _ content: FavoriteContent, by session: LiveSession)
    async throws(StateChangeError)
  {
    try await perform("toggle", .object(content.object(withID: id)), of: "favorites", by: session)
  }

  package func saveProfile(_ fields: [String: String], by session: LiveSession) async throws(StateChangeError) {
    let fields = JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
    try await perform("save", .object(fields), of: "profile", by: session)
  }

  private func perform(
    _ type: String,
    _ payload: JSON,
    of module: String,
    by session: LiveSession
  ) async throws(StateChangeError) {
    do {
      guard let action = try modules.first(where: { $0.name == module })?.read(type, payload) else {
        throw Refusal.notFound("There is no action \(type) of \(module).")
      }
      let transaction = Transaction(
        user: session.user,
        session: session,
        actions: [action],
        // Without an idempotency key, no response is kept.
        response: { _ in StoredResponse(status: 200, fields: [], body: nil) },
        refusal: { _ in nil }
      )
      _ = try await turns.run(for: session.user) {
        let reservation = ledger.reserve(session.user)
        if reservation.needsLoading { try await ledger.load(reservation) }
        return try await withCompletion { try ledger.submit(transaction, reservation, completion: $0) }
      }
    } catch {
      throw StateChangeError(message: Self.message(for: error))
    }
  }

  private static func message(for error: any Error) -> String {
    switch (error as? ActionRefusal)?.refusal ?? error {
    case Refusal.invalid(let faults): faults.map(\.detail).joined(separator: " ")
    case Refusal.notFound(let detail), Refusal.conflict(let detail), Refusal.quotaExceeded(let detail): detail
    case is SessionEndedError: "The session has ended. Log in again."
    default: "The change cannot be saved at the moment. Try again."
    }
  }
}
