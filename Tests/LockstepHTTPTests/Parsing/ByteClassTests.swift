@testable import LockstepHTTP
import Testing

@Suite("Bytes belong to the classes of RFC 9110", .timeLimit(.minutes(10)))
struct ByteClassTests {
  private let all = UInt8.min...UInt8.max
  private let alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

  @Test("A token consists of letters, digits and fifteen other characters")
  func tokens() {
    #expect(text(all.filter(\.isTokenByte)) == sorted(alphanumerics + "!#$%&'*+-.^_`|~"))
  }

  @Test("A registered name consists of unreserved characters, sub-delimiters and percent signs")
  func registeredNames() {
    #expect(text(all.filter(\.isRegisteredNameByte)) == sorted(alphanumerics + "-._~" + "!$&'()*+,;=" + "%"))
  }

  @Test("A field's value consists of tabs and all characters except control characters")
  func fieldValues() {
    #expect(all.filter { !$0.isFieldValueByte } == Array(0..<0x09) + Array(0x0A..<0x20) + [0x7F])
  }

  @Test("A target consists of visible ASCII characters without #")
  func targets() {
    #expect(all.filter(\.isTargetByte) == Array(0x21...0x7E).filter { $0 != UInt8(ascii: "#") })
  }

  @Test("Hexadecimal digits are 0 to 9, a to f and A to F")
  func hexadecimal() {
    #expect(text(all.filter { $0.hexValue != nil }) == "0123456789ABCDEFabcdef")
    for (index, digit) in "0123456789abcdef".utf8.enumerated() { #expect(digit.hexValue == UInt8(index)) }
    for (index, digit) in "0123456789ABCDEF".utf8.enumerated() { #expect(digit.hexValue == UInt8(index)) }
  }

  @Test("Conversion to lower case changes only uppercase ASCII letters")
  func lowercase() {
    for byte in all {
      let isCapital = byte >= 0x41 && byte <= 0x5A
      #expect(byte.lowercased == (isCapital ? byte + 0x20 : byte))
    }
  }

  private func sorted(_ characters: String) -> String { text(characters.utf8.sorted()) }
}
