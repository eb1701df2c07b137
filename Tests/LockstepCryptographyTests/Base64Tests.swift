import LockstepTestSupport
import Testing

@testable import LockstepCryptography

@Suite("Base64", .timeLimit(.minutes(10)))
struct Base64Tests {
  @Test("The vectors of RFC 4648 are decoded with and without padding")
  func vectors() {
    for (text, encoded) in [
      ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
      ("foobar", "Zm9vYmFy"),
    ] {
      #expect(Base64.encode(Array(text.utf8)) == encoded)
      #expect(Base64.decodeURL(encoded) == Array(text.utf8))
      let padding = String(repeating: "=", count: (4 - encoded.utf8.count % 4) % 4)
      #expect(Base64.decode(Substring(encoded + padding)) == Array(text.utf8))
      if !padding.isEmpty { #expect(Base64.decodeURL(encoded + padding) == nil) }
    }
    #expect(Base64.decodeURL("-_-_") == [0xFB, 0xFF, 0xBF])
    #expect(Base64.decodeURL("+/+/") == nil)
    for text in ["-_-_", "+/+/", "._+/"] as [Substring] { #expect(Base64.decode(text) == [0xFB, 0xFF, 0xBF]) }
  }

  @Test("Each value has one spelling in base64url")
  func oneSpelling() {
    var numbers = SeededNumbers(seed: TestSeed.make(for: "oneSpelling"))
    for text in ["Z", "ZgZ", "Zh", "Zm9", "Zg==", "Zg=", "=", "Z g", "Zg\n", "Z\0", "Zé", "\u{FF}AAA"] {
      // “ZgZ” has unused bits that are set.
      #expect(Base64.decodeURL(text) == nil, "\(text)")
    }
    for _ in 0..<50_000 {
      let text = (0..<numbers.below(7)).map { _ in UInt8(numbers.below(256)) }
      guard let bytes = Base64.decodeURL(text[...]) else { continue }
      #expect(Base64Text.encode(bytes) == String(decoding: text, as: UTF8.self))
    }
    for byte in UInt8.min...UInt8.max {
      let isInAlphabet =
        Character(Unicode.Scalar(byte)).isASCII && (byte == 0x2D || byte == 0x5F || isAlphanumeric(byte))
      #expect((Base64.decodeURL([0x41, 0x41, 0x41, byte]) != nil) == isInAlphabet, "\(byte)")
    }
  }

  private func isAlphanumeric(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}
