import LockstepCollections
import LockstepJSON
import LockstepThreading

/// The value of an `Idempotency-Key` field, with a fingerprint of the request. A repeated request
/// has the same fingerprint.
package struct IdempotencyKey: Sendable {
  /// The longest key that a client may send.
  package static let maximumBytes = 256

  package let key: String
  /// A hash of the request's method, path, query and body, and of what the body means.
  package let fingerprint: [UInt8]

  package init(_ key: String, fingerprint: [UInt8]) {
    self.key = key
    self.fingerprint = fingerprint
  }

  /// `target` is the request's path and query. If the same body can mean different things,
  /// depending on its `Content-Type`, pass a `meaning`.
  ///
  /// If the body contains a password, pass a `secret`: an unpredictable value that is not in the
  /// store, such as the request's token. Otherwise the fingerprint could be used to guess the
  /// password.
  package init(
    _ key: String,
    method: String,
    target: String,
    meaning: String = "",
    body: [UInt8],
    secret: [UInt8] = []
  ) {
    self.key = key
    let (method, target, meaning) = (Array(method.utf8), Array(target.utf8), Array(meaning.utf8))
    fingerprint =
      meaning.isEmpty
      ? DomainHash.of("request", method, target, body, secret)
      : DomainHash.of("request", method, target, body, secret, meaning)
  }
}

/// The owner of an idempotency key. Two owners may use the same key for different requests.
package enum IdempotencyKeyOwner: Sendable, Hashable {
  /// A user, with all of the user's devices.
  case user(UserID)
  /// An owner other than a user: the administrator, a visitor, or the holder of a token that the
  /// request ends. A hash identifies the owner.
  case outsider([UInt8])

  package static let administrator = outsider(DomainHash.of("administrator", []))

  /// The holder of a token that the request itself ends.
  package static func holder(of token: [UInt8]) -> IdempotencyKeyOwner { outsider(DomainHash.of("token", token)) }

  /// A client that signs up or logs in with this e-mail address.
  package static func visitor(address: String) -> IdempotencyKeyOwner {
    outsider(DomainHash.of("address", Array(address.utf8)))
  }

  /// A client whose request has a secret that cannot be guessed.
  package static func visitor(withSecret secret: [UInt8]) -> IdempotencyKeyOwner {
    outsider(DomainHash.of("visitor's secret", secret))
  }
}

/// Another request with the same key has not finished.
package struct IdempotencyKeyInUseError: Error {
  package init() {}
}

/// The key was used for a different request.
package struct IdempotencyKeyReusedError: Error {
  package init() {}
}

/// The idempotency keys of writes that have begun and have no outcome yet, so that none of them
/// begins twice.
package final class InFlightKeys: Sendable {
  private struct OwnedKey: Hashable {
    let owner: IdempotencyKeyOwner
    let key: ExactText
  }

  private let keys = LockedState<Set<OwnedKey>>([])

  package init() {}

  /// Marks a key as in flight, or throws if it already is. Release it when the write has an
  /// outcome.
  package func claim(_ key: IdempotencyKey, of owner: IdempotencyKeyOwner) throws(IdempotencyKeyInUseError) {
    let isNew = keys.withLock { $0.insert(OwnedKey(owner: owner, key: key.key.exact)).inserted }
    if !isNew { throw IdempotencyKeyInUseError() }
  }

  package func release(_ key: IdempotencyKey, of owner: IdempotencyKeyOwner) {
    _ = keys.withLock { $0.remove(OwnedKey(owner: owner, key: key.key.exact)) }
  }
}
