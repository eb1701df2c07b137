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

  @Test("Each byte that a value must not contain is found at each place, between all kinds of bytes")
  func control() {
    for other in [0x00, 0x09, 0x20, 0x61, 0x7E, 0x80, 0xFF] as [UInt8] where other.isFieldValueByte {
      for byte in UInt8.min ... .max {
        // 32 bytes are checked at once, then eight, then each.
        for place in 0..<43 {
          var bytes = [UInt8](repeating: other, count: 43)
          bytes[place] = byte
          let (found, inside) = bytes.withUnsafeBytes { ($0.firstControl(in: 0..<43), $0.firstControl(in: 0..<place)) }
          #expect(found == (byte.isFieldValueByte ? nil : place), "byte \(byte) between \(other)")
          #expect(inside == nil)
        }
      }
    }
  }

  @Test("A byte that is not ASCII is found at each place")
  func ascii() {
    for place in 0..<20 {
      for byte in UInt8.min ... .max {
        var bytes = [UInt8](repeating: 0x61, count: 20)
        bytes[place] = byte
        #expect(bytes.withUnsafeBytes { $0.isASCII } == (byte < 0x80), "byte \(byte) at \(place)")
      }
    }
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
