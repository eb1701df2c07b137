import CLockstepSodium

/// Whose an idempotency key is: the same key of somebody else is another one.
enum KeyOwner: Sendable, Hashable {
  /// A user's, whichever device of theirs sent it.
  case user(UserID)
  /// Of somebody who isn't in the store, or won't be when the answer is kept, told by a hash.
  case outsider([UInt8])

  /// The administrator, of whom there is one.
  static let administrator = outsider(Hash.of("administrator", []))

  /// Whoever has this token, which the request itself makes worthless.
  static func holder(of token: [UInt8]) -> KeyOwner { outsider(Hash.of("token", token)) }

  /// Whoever signs up or logs in with this address.
  static func visitor(address: String) -> KeyOwner { outsider(Hash.of("address", Array(address.utf8))) }
}

/// BLAKE2b of what is named, so that hashes that serve different ends are never the same.
enum Hash {
  /// 32 bytes, or as many as are asked for, from 16 to 64. Every part is told by its length, so that no two lists of parts
  /// run into the same bytes.
  static func of(_ purpose: String, _ parts: [UInt8]..., count: Int = 32) -> [UInt8] {
    var bytes = Array("lockstep \(purpose) ".utf8)
    for part in parts { bytes += Array("\(part.count) ".utf8) + part }
    var digest = [UInt8](repeating: 0, count: count)
    // It fails only for lengths that it doesn't know.
    crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
    return digest
  }
}
