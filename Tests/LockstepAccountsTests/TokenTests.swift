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

  private static let user = UserID(UUIDv7(milliseconds: 2, random12: 1, random62: 1))

  @Test("The text is ls_, 8 digits of the user, _, and base64url of 32 random bytes and of a tag")
  func text() {
    #expect(
      Self.issuer().make(for: Self.user).text
        == "ls_610ed725_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-CxyyDYTIYs4DtAIiG5v-E"
    )
  }

  @Test("A token of an earlier version, and a service token, has no digits of a user")
  func earlierText() throws {
    let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh-rROrNjLfJC1NhCfXpn0-Z"
    let token = Self.issuer().makeService()
    #expect(token.text == "ls_" + text)
    #expect(token.serviceText == "lsa_" + text)
    #expect(Self.token("ls_" + text) == token)
    #expect(Self.issuer().hasMade(token))
  }

  @Test("The store keeps the BLAKE2b-256 of those 48 bytes, and of the digits if there are any")
  func hash() {
    func hash(_ token: Token) -> String {
      guard case .blob(let bytes) = token.hash.sqliteValue else { return "" }
      return hexadecimal(bytes)
    }
    #expect(
      hash(Self.issuer().makeService()) == "6af4ed8096d0c473681e2059dda24cc27c8071c12b7f20175f07fb90afe34e0f"
    )
    #expect(
      hash(Self.issuer().make(for: Self.user)) == "497e4df30455e248ff525b084218af7f2b7b6f75240318824971c988978e4106"
    )
  }

  @Test("All tokens of a user have the same digits, which differ between users and between stores")
  func userDigits() throws {
    let sodium = try Sodium()
    let ids = UUIDv7Generator(now: { 1_700_000_000_000 }, random: sodium.randomWord)
    let users = (0..<1_000).map { _ in UserID(ids.next()) }
    let (key, other) = (TokenKey(random: sodium.randomWord), TokenKey(random: sodium.randomWord))
    func digits(_ key: TokenKey) -> [String] {
      let issuer = TokenIssuer(key: key, random: sodium.randomWord)
      return users.map { String(issuer.make(for: $0).text.prefix(12)) }
    }
    #expect(digits(key) == digits(key))
    // Two of 1,000 users have the same digits in one of 8,600 runs, and three in none.
    #expect(Set(digits(key)).count >= 999)
    #expect(zip(digits(key), digits(other)).count { $0 == $1 } <= 1)
    #expect(digits(key).allSatisfy { $0.wholeMatch(of: /ls_[0-9a-f]{8}_/) != nil })
  }

  @Test("Eight digits are read as a number, and nothing else is")
  func digits() {
    func read(_ text: [UInt8]) -> UInt32? { text.withUnsafeBytes { HexadecimalDigits($0, at: 0)?.value } }
    for value: UInt32 in [0, 1, 0x0123_4567, 0x89AB_CDEF, 0xFEDC_BA98, .max] {
      #expect(read(HexadecimalDigits(value).text) == value)
    }
    #expect(HexadecimalDigits(0x0A9F_0010).text == Array("0a9f0010".utf8))
    for place in 0..<8 {
      for byte in UInt8.min ... .max {
        var text = Array("0a9f0010".utf8)
        text[place] = byte
        let isDigit = "0123456789abcdef".utf8.contains(byte)
        #expect(read(text) == (isDigit ? UInt32(String(decoding: text, as: UTF8.self), radix: 16) : nil))
      }
    }
  }

  private static func token(_ text: String) -> Token? { Array(text.utf8).withUnsafeBytes { Token($0) } }

  @Test("A token that is written as text reads back equal")
  func roundTrip() throws {
    let sodium = try Sodium()
    for _ in 0..<1_000 {
      let issuer = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
      for token in [issuer.make(for: Self.user), issuer.makeService()] {
        #expect(Self.token(token.text) == token, "\(token.text)")
        #expect(TokenHash(sqliteValue: token.hash.sqliteValue) == token.hash)
      }
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
      "ls_0123abcd" + String(repeating: "A", count: 64), "ls_0123abcd-" + String(repeating: "A", count: 64),
      "ls_0123abcD_" + String(repeating: "A", count: 64), "ls_0123abcg_" + String(repeating: "A", count: 64),
      "ls_0123abc_" + String(repeating: "A", count: 64), "ls_0123abcde_" + String(repeating: "A", count: 64),
      "ls_0123abcd_" + String(repeating: "A", count: 63), "ls_0123abcd_" + String(repeating: "A", count: 65),
      "ls__" + String(repeating: "A", count: 64), "ls_+123abcd_" + String(repeating: "A", count: 64),
    ]
  )
  func malformed(text: String) {
    #expect(Self.token(text) == nil)
  }

  @Test("An issuer recognizes its own tokens, and no token with a changed bit")
  func recognised() throws {
    let issuer = Self.issuer()
    let token = issuer.make(for: Self.user)
    let digits = try #require(token.userDigits)
    #expect(issuer.hasMade(token))
    #expect(!issuer.hasMade(Token(secret: token.secret, tag: token.tag)))
    for bit in 0..<32 {
      let changed = HexadecimalDigits(digits.value ^ 1 << UInt32(bit))
      let other = Token(secret: token.secret, tag: token.tag, userDigits: changed)
      #expect(!issuer.hasMade(other) && other.hash != token.hash, "bit \(bit) of the digits")
    }
    for bit in 0..<64 {
      for word in 0..<4 {
        var secret = token.secret
        secret[word] ^= 1 << UInt64(bit)
        #expect(
          !issuer.hasMade(Token(secret: secret, tag: token.tag, userDigits: digits)),
          "bit \(bit) of word \(word)"
        )
      }
      for word in 0..<2 {
        var tag = token.tag
        tag[word] ^= 1 << UInt64(bit)
        #expect(
          !issuer.hasMade(Token(secret: token.secret, tag: tag, userDigits: digits)),
          "bit \(bit) of the tag's word \(word)"
        )
      }
    }
  }

  @Test("An issuer does not recognize the tokens of another store")
  func otherStore() {
    #expect(!Self.issuer(key: 8).hasMade(Self.issuer().make(for: Self.user)))
  }

  @Test("Tokens of libsodium's random numbers differ in every word")
  func random() throws {
    let sodium = try Sodium()
    let issuer = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
    let words = (0..<100).flatMap { _ in
      let token = issuer.make(for: Self.user)
      return (0..<4).map { token.secret[$0] } + (0..<2).map { token.tag[$0] }
    }
    #expect(Set(words).count == 600)
  }
}
