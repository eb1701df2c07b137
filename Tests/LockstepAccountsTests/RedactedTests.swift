import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore
@testable import LockstepTime

@Suite("Secrets", .timeLimit(.minutes(10)))
struct ConcealedTests {
  private struct Holder {
    let secret: Any
    let name = "holder"
  }

  private static let issuer = TokenIssuer(key: TokenKey { 1 }, random: { 0x0123_4567_89AB_CDEF })
  private static var token: Token { issuer.make(for: UserID(UUIDv7(milliseconds: 2, random12: 1, random62: 1))) }

  private static func everyPrintOf(_ value: Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    dump(Holder(secret: value), to: &dumped)
    let printed = "\(value) \(String(reflecting: value)) \([value]) \(Holder(secret: value)) \(Optional(value) as Any)"
    return dumped + printed + "\(Mirror(reflecting: value).children.map { "\($0)" })"
  }

  @Test("A password does not appear in any text")
  func password() {
    let text = Self.everyPrintOf(Password("swordfish"))
    #expect(text.contains("(Password)"))
    #expect(!text.contains("swordfish") && !text.contains("115"), "\(text)")
  }

  @Test("A hash of a password does not appear in any text")
  func passwordHash() {
    let text = Self.everyPrintOf(PasswordHash("$argon2id$salt"))
    #expect(text.contains("(PasswordHash)") && !text.contains("argon2id"), "\(text)")
  }

  @Test("A token does not appear in any text, also as a part of a login's result")
  func token() {
    let session = Session(
      id: SessionID(UUIDv7(milliseconds: 1, random12: 1, random62: 1)),
      device: nil,
      createdAt: Timestamp(millisecondsSince1970: 0),
      lastSeenAt: Timestamp(millisecondsSince1970: 0),
      expiresAt: Timestamp(millisecondsSince1970: 0)
    )
    let user = User(
      id: UserID(UUIDv7(milliseconds: 2, random12: 1, random62: 1)),
      email: "a@b.de",
      createdAt: Timestamp(millisecondsSince1970: 0)
    )
    for value in [Self.token, SignedIn(user: user, session: session, token: Self.token)] as [Any] {
      let text = Self.everyPrintOf(value)
      #expect(text.contains("(Token)"))
      #expect(!text.contains("ls_") && !text.contains("\(0x0123_4567_89AB_CDEF)"), "\(text)")
    }
  }

  @Test("The key of the tags does not appear in any text")
  func key() {
    let text = Self.everyPrintOf(TokenKey { 0x0123_4567_89AB_CDEF })
    #expect(text.contains("(TokenKey)") && !text.contains("\(0x0123_4567_89AB_CDEF)"), "\(text)")
  }
}
