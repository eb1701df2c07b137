import Synchronization
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

@Suite("Tokens", .timeLimit(.minutes(10)))
struct TokenTests {
  /// An issuer with a key of 32 bytes of value 7. The secret of its first token is the bytes 0 to
  /// 31.
  private static func issuer(key: UInt64 = 0x0707_0707_0707_0707) -> TokenIssuer {
    let next = Mutex<UInt64>(0x0001_0203_0405_0607)
    return TokenIssuer(key: TokenKey { key }) {
      next.withLock { word in
        defer { word &+= 0x0808_0808_0808_0808 }
        return word
      }
    }
  }

  @Test("The text is ls_ and base64url of 32 random bytes and of their BLAKE2b-128 under the store's key")
  func text() {
    #expect(Self.issuer().make().text == "ls_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-rROrNjLfJC1NhCfXpn0-Z")
  }

  @Test("The store keeps the BLAKE2b-256 of those 48 bytes")
  func hash() {
    guard case .blob(let bytes) = Self.issuer().make().hash.sqliteValue else { return }
    #expect(hexadecimal(bytes) == "6af4ed8096d0c473681e2059dda24cc27c8071c12b7f20175f07fb90afe34e0f")
  }

  private static func token(_ text: String) -> Token? { Array(text.utf8).withUnsafeBytes { Token($0) } }

  @Test("A token that is written as text reads back equal")
  func roundTrip() throws {
    let sodium = try Sodium()
    for _ in 0..<1_000 {
      let token = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord).make()
      #expect(Self.token(token.text) == token, "\(token.text)")
      #expect(TokenHash(sqliteValue: token.hash.sqliteValue) == token.hash)
    }
  }

  @Test("Only 32 bytes are read from the store as a hash or a key", arguments: [0, 31, 33])
  func stored(count: Int) {
    let bytes = [UInt8](repeating: 1, count: count)
    #expect(TokenHash(sqliteValue: .blob(bytes)) == nil)
    #expect(TokenKey(sqliteValue: .blob(bytes)) == nil)
    #expect(TokenHash(sqliteValue: .text(String(decoding: bytes, as: UTF8.self))) == nil)
  }

  @Test(
    "Any other text is not a token",
    arguments: [
      "", "ls_", "ls_AAAA", String(repeating: "A", count: 67), "LS_" + String(repeating: "A", count: 64),
      "ls_" + String(repeating: "A", count: 63), "ls_" + String(repeating: "A", count: 65),
      "ls_" + String(repeating: "A", count: 63) + "=", "ls_" + String(repeating: "A", count: 63) + "+",
      "ls_" + String(repeating: "A", count: 63) + "/", " ls_" + String(repeating: "A", count: 63),
      "ls_" + String(repeating: "A", count: 62) + "ö", "ls_" + String(repeating: "\0", count: 64),
      "ls_" + String(repeating: "'", count: 64),
    ]
  )
  func malformed(text: String) {
    #expect(Self.token(text) == nil)
  }

  @Test("An issuer recognizes its own tokens, and no token with a changed bit")
  func recognised() throws {
    let issuer = Self.issuer()
    let token = issuer.make()
    #expect(issuer.hasMade(token))
    for bit in 0..<64 {
      for word in 0..<4 {
        var secret = token.secret
        secret[word] ^= 1 << UInt64(bit)
        #expect(!issuer.hasMade(Token(secret: secret, tag: token.tag)), "bit \(bit) of word \(word)")
      }
      for word in 0..<2 {
        var tag = token.tag
        tag[word] ^= 1 << UInt64(bit)
        #expect(!issuer.hasMade(Token(secret: token.secret, tag: tag)), "bit \(bit) of the tag's word \(word)")
      }
    }
  }

  @Test("An issuer does not recognize the tokens of another store")
  func otherStore() {
    #expect(!Self.issuer(key: 8).hasMade(Self.issuer().make()))
  }

  @Test("Tokens of libsodium's random numbers differ in every word")
  func random() throws {
    let sodium = try Sodium()
    let issuer = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
    let words = (0..<100).flatMap { _ in
      let token = issuer.make()
      return (0..<4).map { token.secret[$0] } + (0..<2).map { token.tag[$0] }
    }
    #expect(Set(words).count == 600)
  }
}
