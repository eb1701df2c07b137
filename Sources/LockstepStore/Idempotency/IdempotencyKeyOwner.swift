import LockstepCollections

/// Whose an idempotency key is: the same key of somebody else is another one.
package enum IdempotencyKeyOwner: Sendable, Hashable {
  /// A user's, whichever device of theirs sent it.
  case user(UserID)
  /// Of somebody who isn't in the store, or won't be when the answer is kept, told by a hash.
  case outsider([UInt8])

  /// The administrator, of whom there is one.
  package static let administrator = outsider(DomainHash.of("administrator", []))

  /// Whoever has this token, which the request itself makes worthless.
  package static func holder(of token: [UInt8]) -> IdempotencyKeyOwner { outsider(DomainHash.of("token", token)) }

  /// Whoever signs up or logs in with this address.
  package static func visitor(address: String) -> IdempotencyKeyOwner {
    outsider(DomainHash.of("address", Array(address.utf8)))
  }
}
