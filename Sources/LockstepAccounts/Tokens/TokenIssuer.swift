import CLockstepSodium
import LockstepCollections
import LockstepStore

/// Makes a store's tokens and recognises them by their authentication tags, so that a guess costs
/// one hash and no read of the store. An attacker who has the key must still guess 256 bits,
/// because only the store knows which tokens are valid.
struct TokenIssuer: Sendable {
  let key: TokenKey
  /// Must be unpredictable.
  let random: @Sendable () -> UInt64

  /// A token for a session of the user.
  func make(for user: UserID) -> Token { make(userDigits(of: user)) }

  /// A token that belongs to no user.
  func makeService() -> Token { make(nil) }

  private func make(_ userDigits: HexadecimalDigits?) -> Token {
    let secret = SIMD4(random(), random(), random(), random())
    return Token(secret: secret, tag: tag(of: secret, userDigits), userDigits: userDigits)
  }

  /// The first 32 bits of a hash of the user's id with the store's key. Without the key, for example in
  /// the log of a load balancer, the digits cannot be traced to the id. They say nothing about the
  /// user's e-mail address or about the token's secret.
  private func userDigits(of user: UserID) -> HexadecimalDigits {
    let hash = key.hash(for: "token user", Array(user.description.utf8), count: 16)
    return HexadecimalDigits(hash.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
  }

  func hasMade(_ token: Token) -> Bool {
    // Compares both words in constant time.
    let difference = tag(of: token.secret, token.userDigits) ^ token.tag
    return (difference.x | difference.y) == 0
  }

  /// The tag includes the digits, so that each token has one spelling.
  private func tag(of secret: SIMD4<UInt64>, _ userDigits: HexadecimalDigits?) -> SIMD2<UInt64> {
    let words = lockstep_tag(Self.bits(secret), HexadecimalDigits.bits(userDigits), Self.bits(key.words)).words
    return SIMD2(words.0, words.1)
  }

  private static func bits(_ words: SIMD4<UInt64>) -> lockstep_bits256 {
    lockstep_bits256(words: (words.x, words.y, words.z, words.w))
  }
}
