@testable import LockstepHTTP
import Testing

@Suite("Bytes are what RFC 9110 calls them", .timeLimit(.minutes(10)))
struct ByteClassTests {
  private let all = UInt8.min...UInt8.max
  private let alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

  @Test("A token is made of letters, digits and fifteen marks")
  func tokens() {
    #expect(text(all.filter(\.isTokenByte)) == sorted(alphanumerics + "!#$%&'*+-.^_`|~"))
  }

  @Test("A registered name is made of unreserved characters, sub-delimiters and percent signs")
  func registeredNames() {
    #expect(text(all.filter(\.isRegisteredNameByte)) == sorted(alphanumerics + "-._~" + "!$&'()*+,;=" + "%"))
  }

  @Test("A field's value is made of all but control characters, with the tab")
  func fieldValues() {
    #expect(all.filter { !$0.isFieldValueByte } == Array(0..<0x09) + Array(0x0A..<0x20) + [0x7F])
  }

  @Test("A target is made of visible ASCII without the mark of a fragment")
  func targets() {
    #expect(all.filter(\.isTargetByte) == Array(0x21...0x7E).filter { $0 != UInt8(ascii: "#") })
  }

  @Test("Hexadecimal digits come in both cases, and nothing else is one")
  func hexadecimal() {
    #expect(text(all.filter { $0.hexValue != nil }) == "0123456789ABCDEFabcdef")
    for (index, digit) in "0123456789abcdef".utf8.enumerated() { #expect(digit.hexValue == UInt8(index)) }
    for (index, digit) in "0123456789ABCDEF".utf8.enumerated() { #expect(digit.hexValue == UInt8(index)) }
  }

  @Test("Only ASCII capitals have a lower case")
  func lowercase() {
    for byte in all {
      let isCapital = byte >= 0x41 && byte <= 0x5A
      #expect(byte.lowercased == (isCapital ? byte + 0x20 : byte))
    }
  }

  private func sorted(_ characters: String) -> String { text(characters.utf8.sorted()) }
}
