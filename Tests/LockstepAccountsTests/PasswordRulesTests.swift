import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

@Suite("The rules for a password", .timeLimit(.minutes(10)))
struct PasswordRulesTests {
  private static let short = "The password is shorter than 8 characters."
  private static let long = "The password is longer than 256 bytes."
  private static let same = "The password is the same as the e-mail address."

  @Test(
    "The error lists every rule that a password breaks",
    arguments: [
      ("12345678", []), ("1234567", [short]), ("", [short]),
      ("ööööööö", [short]), ("öööööööö", []), ("👍🏽👍🏽👍🏽👍🏽", []), ("        ", []), ("\0\0\0\0\0\0\0\0", []),
      (String(repeating: "a", count: 256), []), (String(repeating: "a", count: 257), [long]),
      (String(repeating: "ö", count: 128), []), (String(repeating: "ö", count: 129), [long]),
      ("ann@example.com", [same]), ("ANN@Example.com", [same]), ("ann@example.com ", []),
    ]
  )
  func faults(text: String, expected: [String]) throws {
    let faults = PasswordRules().faults(in: Password(text), of: try EmailAddress("Ann@example.com"))
    #expect(faults == expected)
  }

  @Test("A short address as the password breaks two rules")
  func two() throws {
    #expect(PasswordRules().faults(in: Password("a@b.de"), of: try EmailAddress("A@b.de")) == [Self.short, Self.same])
  }

  @Test("A password is compared with the address only if there is one")
  func noAddress() {
    #expect(PasswordRules().faults(in: Password("ann@example.com"), of: nil).isEmpty)
  }

  @Test("The minimum length can be configured")
  func minimum() {
    let rules = PasswordRules(minimumCharacters: 12)
    #expect(rules.faults(in: Password("12345678901"), of: nil) == ["The password is shorter than 12 characters."])
    #expect(rules.faults(in: Password("123456789012"), of: nil).isEmpty)
  }
}
