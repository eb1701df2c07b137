import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("An e-mail address", .timeLimit(.minutes(10)))
struct EmailAddressTests {
  @Test(
    "Ordinary addresses are accepted and kept as given",
    arguments: [
      "ann@example.com", "Ann.Lee+lockstep@Example.COM", "o'neil@sub.example.co.uk", "1@2.de",
      "a@xn--bcher-kva.example",
      "用户@例え.テスト", "jörg@müller.example", "a!#$%&'*+/=?^_`{|}~-b@example.org",
      String(repeating: "a", count: 64) + "@example.com",
      "a@" + String(repeating: "b", count: 63) + ".example",
    ]
  )
  func accepted(text: String) throws {
    #expect(try EmailAddress(text).text == text)
  }

  @Test(
    "Addresses that differ only in case are the same, in any alphabet",
    arguments: [
      ("Ann@Example.com", "aNN@eXAMPLE.COM"), ("JÖRG@müller.example", "jörg@MÜLLER.example"),
      ("ΑΝΝΑ@example.com", "αννα@example.com"), ("ЖЕНЯ@example.com", "женя@example.com"),
    ]
  )
  func sameAddress(one: String, other: String) throws {
    #expect(try EmailAddress(one) == EmailAddress(other))
    #expect(try EmailAddress(one).key == EmailAddress(other).key)
  }

  @Test("Addresses with other differences are different")
  func different() throws {
    #expect(try EmailAddress("ann@example.com") != EmailAddress("ann@example.org"))
    #expect(try EmailAddress("ann@example.com") != EmailAddress("a.nn@example.com"))
  }

  @Test(
    "An invalid address is refused with the reason",
    arguments: [
      ("", "The address is empty."),
      ("ann", "The address has no @: it must look like name@example.com."),
      ("a@b@example.com", "The address has more than one @: it must look like name@example.com."),
      ("@example.com", "The address has nothing before the @."),
      ("ann@", "The address has nothing after the @."),
      (
        String(repeating: "a", count: 65) + "@example.com",
        "The part of the address before the @ is longer than 64 bytes."
      ),
      (
        String(repeating: "ö", count: 33) + "@example.com",
        "The part of the address before the @ is longer than 64 bytes."
      ),
      ("a@" + String(repeating: "b.", count: 126) + "c", "The address is longer than 254 bytes."),
      ("ann@localhost", "The address's domain has no dot: it must look like example.com."),
      ("ann@example..com", "Each part of the address's domain must have 1 to 63 bytes."),
      ("ann@.example.com", "Each part of the address's domain must have 1 to 63 bytes."),
      ("ann@example.com.", "Each part of the address's domain must have 1 to 63 bytes."),
      (
        "a@" + String(repeating: "b", count: 64) + ".example",
        "Each part of the address's domain must have 1 to 63 bytes."
      ),
      ("ann@-example.com", "A part of the address's domain begins or ends with a hyphen."),
      ("ann@example-.com", "A part of the address's domain begins or ends with a hyphen."),
      ("ann@exam_ple.com", "The address's domain may only contain letters, digits, hyphens and dots."),
      ("ann@[192.0.2.1]", "The address's domain may only contain letters, digits, hyphens and dots."),
      ("ann@example.com'--", "A part of the address's domain begins or ends with a hyphen."),
      ("\"a\"@example.com", "The part of the address before the @ contains one of ( ) < > [ ] \\ , ; : \""),
      ("Ann<ann@example.com", "The part of the address before the @ contains one of ( ) < > [ ] \\ , ; : \""),
      (
        "=?utf-8?q?eve=40a.example=3e?=@example.com",
        "The part of the address before the @ contains an encoded word: =?…?="
      ),
    ]
  )
  func refused(text: String, reason: String) {
    #expect(throws: AccountTextError(reason)) { try EmailAddress(text) }
  }

  @Test(
    "Spaces, line breaks, control characters and invisible characters are refused",
    arguments: [
      " ann@example.com", "ann@example.com ", "a nn@example.com", "ann@exa\tmple.com", "ann@example.com\r\nBcc: x",
      "ann\0@example.com", "ann\u{7F}@example.com", "ann\u{A0}@example.com", "ann\u{200B}@example.com",
      "\u{202E}ann@example.com", "ann\u{2028}@example.com", "ann\u{E000}@example.com",
    ]
  )
  func invisible(text: String) {
    let reason = "The address contains a space or an invisible character."
    #expect(throws: AccountTextError(reason)) { try EmailAddress(text) }
  }

  @Test("An address of exactly 254 bytes is accepted")
  func longest() throws {
    let text = "a@" + String(repeating: "b.", count: 125) + "cc"
    #expect(text.utf8.count == 254)
    #expect(try EmailAddress(text).text == text)
  }
}
