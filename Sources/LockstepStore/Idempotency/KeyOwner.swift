import LockstepCollections

/// Whose an idempotency key is: the same key of somebody else is another one.
package enum KeyOwner: Sendable, Hashable {
  /// A user's, whichever device of theirs sent it.
  case user(UserID)
  /// Of somebody who isn't in the store, or won't be when the answer is kept, told by a hash.
  case outsider([UInt8])

  /// The administrator, of whom there is one.
  package static let administrator = outsider(Hash.of("administrator", []))

  /// Whoever has this token, which the request itself makes worthless.
  package static func holder(of token: [UInt8]) -> KeyOwner { outsider(Hash.of("token", token)) }

  /// Whoever signs up or logs in with this address.
  package static func visitor(address: String) -> KeyOwner { outsider(Hash.of("address", Array(address.utf8))) }
}
