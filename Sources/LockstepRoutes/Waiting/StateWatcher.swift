import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync
import Synchronization

/// Watches a user's state: remembers the state that was seen last, and knows whether there is a
/// newer one.
final class StateWatcher: Watcher {
  let session: LiveSession
  let seat: WaiterRegistry<UserID>.Seat
  private let cache: StateCache
  private let registry: RegisteredLedger
  private let seenRevision = Atomic(-1)
  private let seenRegistered = Atomic(-1)

  init(of session: LiveSession, seat: WaiterRegistry<UserID>.Seat, cache: StateCache, registry: RegisteredLedger) {
    self.session = session
    self.seat = seat
    self.cache = cache
    self.registry = registry
  }

  var hasChanged: Bool {
    guard !session.isEnded, let hot = cache.state(of: session.user) else { return true }
    return hot.state.revision.rawValue != seenRevision.load(ordering: .relaxed)
      || registry.current.revision.rawValue != seenRegistered.load(ordering: .relaxed)
  }

  /// Passes the current state to `body`, at once if it is in memory. Throws if the session has
  /// ended.
  func load(_ body: @escaping @Sendable (CachedState, RegisteredDefaults) throws -> HandlerResult) throws
    -> HandlerResult
  {
    if session.isEnded { throw Problem.unauthorized(true) }
    if let hot = cache.state(of: session.user) { return try body(hot, note(hot)) }
    return .async {
      let (hot, registered) = try await self.load()
      return try body(hot, registered)
    }
  }

  /// The current state, from memory or from the store.
  func load() async throws -> (CachedState, RegisteredDefaults) {
    let hot = try await cache.load(session.user)
    return (hot, note(hot))
  }

  /// The current state if it is in memory.
  var cached: (CachedState, RegisteredDefaults)? {
    guard let hot = cache.state(of: session.user) else { return nil }
    return (hot, note(hot))
  }

  private func note(_ hot: CachedState) -> RegisteredDefaults {
    let registered = registry.current
    note(hot, registered)
    return registered
  }

  /// Remembers that this state was seen.
  func note(_ hot: CachedState, _ registered: RegisteredDefaults) {
    seenRevision.store(hot.state.revision.rawValue, ordering: .relaxed)
    seenRegistered.store(registered.revision.rawValue, ordering: .relaxed)
  }
}
