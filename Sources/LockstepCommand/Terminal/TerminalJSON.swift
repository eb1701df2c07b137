/// JSON for a terminal. Characters that could control the terminal become `\uXXXX`, which a JSON
/// parser reads as the same characters.
///
/// The text comes in pieces, which may end within a character.
struct TerminalJSON {
  /// The first bytes of a character that is not complete yet.
  private var rest: [UInt8] = []

  static func text(_ json: String) -> String {
    json.unicodeScalars.contains(where: isEscaped) ? json.unicodeScalars.map(spelled).joined() : json
  }

  /// Escapes the next piece, up to its last complete character.
  mutating func next(_ piece: [UInt8]) -> [UInt8] {
    let bytes = rest + piece
    let whole = bytes.count - Self.lengthOfBeginning(at: bytes)
    rest = Array(bytes[whole...])
    return Array(Self.text(String(decoding: bytes[..<whole], as: UTF8.self)).utf8)
  }

  /// How many of the last bytes belong to an incomplete character.
  private static func lengthOfBeginning(at bytes: [UInt8]) -> Int {
    for (index, byte) in bytes.suffix(4).reversed().enumerated() where byte & 0xC0 != 0x80 {
      let length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
      return index + 1 < length ? index + 1 : 0
    }
    return 0
  }

  /// Escapes only from U+007F on. Below that, JSON has already escaped control characters in
  /// strings, and any others are white space between tokens.
  private static func isEscaped(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x7F && Terminal.isControl(scalar)
  }

  private static func spelled(_ scalar: Unicode.Scalar) -> String {
    guard isEscaped(scalar) else { return String(scalar) }
    return String(scalar).utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    .joined()
  }
}
