import CLockstepSodium
import LockstepStore

/// Makes a store's tokens and recognises them by their authentication tags, so that a guess costs
/// one hash and no read of the store. An attacker who has the key must still guess 256 bits,
/// because only the store knows which tokens are valid.
struct TokenIssuer: Sendable {
  let key: TokenKey
  /// Must be unpredictable.
  let random: @Sendable () -> UInt64

  func make() -> Token {
    let secret = SIMD4(random(), random(), random(), random())
    return Token(secret: secret, tag: tag(of: secret))
  }

  func hasMade(_ token: Token) -> Bool {
    // Compares both words in constant time.
    let difference = tag(of: token.secret) ^ token.tag
    return (difference.x | difference.y) == 0
  }

  private func tag(of secret: SIMD4<UInt64>) -> SIMD2<UInt64> {
    let words = lockstep_tag(Self.bits(secret), Self.bits(key.words)).words
    return SIMD2(words.0, words.1)
  }

  private static func bits(_ words: SIMD4<UInt64>) -> lockstep_bits256 {
    lockstep_bits256(words: (words.x, words.y, words.z, words.w))
  }
}
