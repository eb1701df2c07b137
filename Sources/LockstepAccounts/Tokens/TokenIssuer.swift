import CLockstepSodium
import LockstepStore

/// Makes a store's tokens, and recognises them.
///
/// A token that somebody has made up is told from a real one by its tag, so that guessing costs the server one hash and
/// never a look into the store. Whether a token is valid, only the store knows: whoever steals the key can spare
/// themselves the tag, and still has 256 bits to guess.
struct TokenIssuer: Sendable {
  private let key: TokenKey
  private let random: @Sendable () -> UInt64

  /// - Parameters:
  ///   - key: The store's key.
  ///   - random: Random numbers that nobody can foretell.
  init(key: TokenKey, random: @escaping @Sendable () -> UInt64) {
    self.key = key
    self.random = random
  }

  /// A new token.
  func make() -> Token {
    let secret = SIMD4(random(), random(), random(), random())
    return Token(secret: secret, tag: tag(of: secret))
  }

  /// Whether the token was made under this key.
  func hasMade(_ token: Token) -> Bool {
    // Both words are compared whatever the first comparison says, so that the time taken tells nothing.
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
