import LockstepCollections
import LockstepStore
import LockstepThreading

/// The idempotency keys whose requests are still at work, so that the same request, sent again meanwhile, isn't done twice.
package final class InFlightKeys: Sendable {
  private struct Use: Hashable {
    let owner: IdempotencyKeyOwner
    let key: ElementKey
  }

  private let uses = LockedState<Set<Use>>([])

  package init() {
  }

  /// Runs `body` as the only one with this key. Throws `IdempotencyKeyInUseError` where another does.
  func hold<Result>(
    _ key: IdempotencyKey,
    of owner: IdempotencyKeyOwner,
    _ body: () async throws -> Result
  ) async throws -> Result {
    let use = Use(owner: owner, key: ElementKey(key.key))
    guard uses.withLock({ $0.insert(use).inserted }) else { throw IdempotencyKeyInUseError() }
    defer { _ = uses.withLock { $0.remove(use) } }
    return try await body()
  }
}

/// Another request with the same key is still at work.
package struct IdempotencyKeyInUseError: Error {
  package init() {}
}
