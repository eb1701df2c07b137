import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync
import Synchronization

/// An eye on a user's state for somebody who waits: what was seen of it last, and whether that is still all.
final class StateWatcher: Sendable {
  let session: LiveSession
  private let seat: WaiterRegistry<UserID>.Seat
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

  /// From now on changes wake `waker`; at once if there was one since the last look.
  func hold(_ waker: any Waker) {
    seat.wait(waker)
    // In this order: whoever changes something publishes it first and wakes then.
    if session.isEnded || isOutdated { waker.wake() }
  }

  /// Hands the present to `body`: at once where it's in memory. Throws where the session has ended.
  func look(_ body: @escaping @Sendable (CachedState, RegisteredDefaults) throws -> HandlerResult) throws
    -> HandlerResult
  {
    if session.isEnded { throw Problem.unauthorized(true) }
    if let hot = cache.state(of: session.user) { return try body(hot, note(hot)) }
    return .async {
      let (hot, registered) = try await self.load()
      return try body(hot, registered)
    }
  }

  /// The present, from the store if need be.
  func load() async throws -> (CachedState, RegisteredDefaults) {
    let hot = try await cache.load(session.user)
    return (hot, note(hot))
  }

  /// The present, where it's in memory.
  func glance() -> (CachedState, RegisteredDefaults)? {
    guard let hot = cache.state(of: session.user) else { return nil }
    return (hot, note(hot))
  }

  private func note(_ hot: CachedState) -> RegisteredDefaults {
    let registered = registry.current
    note(hot, registered)
    return registered
  }

  /// This much has been seen.
  func note(_ hot: CachedState, _ registered: RegisteredDefaults) {
    seenRevision.store(hot.state.revision.rawValue, ordering: .relaxed)
    seenRegistered.store(registered.revision.rawValue, ordering: .relaxed)
  }

  private var isOutdated: Bool {
    guard let hot = cache.state(of: session.user) else { return true }
    return hot.state.revision.rawValue != seenRevision.load(ordering: .relaxed)
      || registry.current.revision.rawValue != seenRegistered.load(ordering: .relaxed)
  }
}
