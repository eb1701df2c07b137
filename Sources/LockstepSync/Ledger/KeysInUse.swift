import LockstepCollections
import LockstepStore
import LockstepThreading

/// The idempotency keys whose requests are still at work, so that the same request, sent again meanwhile, isn't done twice.
package final class KeysInUse: Sendable {
  private struct Use: Hashable {
    let owner: KeyOwner
    let key: ElementKey
  }

  private let uses = Monitor<Set<Use>>([])

  package init() {
  }

  /// Runs `body` as the only one with this key. Throws `IdempotencyKeyInUse` where another does.
  func hold<Result>(
    _ key: IdempotencyKey,
    of owner: KeyOwner,
    _ body: () async throws -> Result
  ) async throws -> Result {
    let use = Use(owner: owner, key: ElementKey(key.key))
    guard uses.withLock({ $0.insert(use).inserted }) else { throw IdempotencyKeyInUse() }
    defer { _ = uses.withLock { $0.remove(use) } }
    return try await body()
  }
}

/// Another request with the same key is still at work.
package struct IdempotencyKeyInUse: Error {
  package init() {}
}
