import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("A device's name", .timeLimit(.minutes(10)))
struct DeviceNameTests {
  @Test(
    "Spaces at the ends are removed, and spaces inside stay",
    arguments: [
      ("phone", "phone"), ("  Ann's  tablet \n", "Ann's  tablet"), ("\u{A0}📱\u{2003}", "📱"),
      ("'; DROP TABLE users; --", "'; DROP TABLE users; --"),
      (String(repeating: "ö", count: 128), String(repeating: "ö", count: 128)),
    ]
  )
  func accepted(text: String, name: String) throws {
    #expect(try DeviceName(text).text == name)
  }

  @Test(
    "An empty name, a long name and a name with control characters are refused with the reason",
    arguments: [
      ("", "The device's name is empty. Omit it instead."),
      (" \t\n", "The device's name is empty. Omit it instead."),
      (String(repeating: "a", count: 129), "The device's name is longer than 128 characters."),
      ("a\nb", "The device's name contains a control character."),
      ("a\0b", "The device's name contains a control character."),
      ("a\u{85}b", "The device's name contains a control character."),
    ]
  )
  func refused(text: String, reason: String) {
    #expect(throws: AccountTextError(reason)) { try DeviceName(text) }
  }
}
