import LockstepCollections
import LockstepThreading

/// The idempotency keys of writes that have begun and have no outcome yet, so that none of them begins twice.
package final class InFlightKeys: Sendable {
  private struct OwnedKey: Hashable {
    let owner: IdempotencyKeyOwner
    let key: ElementKey
  }

  private let keys = LockedState<Set<OwnedKey>>([])

  package init() {}

  /// Marks a key as in flight. Throws `IdempotencyKeyInUseError` if it is already. Release it once the write has an outcome.
  package func claim(_ key: IdempotencyKey, of owner: IdempotencyKeyOwner) throws(IdempotencyKeyInUseError) {
    let owned = OwnedKey(owner: owner, key: ElementKey(key.key))
    guard keys.withLock({ $0.insert(owned).inserted }) else { throw IdempotencyKeyInUseError() }
  }

  package func release(_ key: IdempotencyKey, of owner: IdempotencyKeyOwner) {
    _ = keys.withLock { $0.remove(OwnedKey(owner: owner, key: ElementKey(key.key))) }
  }
}
