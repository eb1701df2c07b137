import LockstepJSON

/// The values of `$ref`: URI fragments with a JSON Pointer to an entry of `$defs`.
enum DefinitionReference {
  /// The name of the entry, or nil for any other reference.
  static func name(in text: String) -> String? {
    guard text.utf8.first == UInt8(ascii: "#"), let fragment = decoded(text.utf8.dropFirst()),
      let pointer = try? JSONPointer(parsing: fragment), pointer.tokens.count == 2, pointer.tokens[0] == "$defs"
    else { return nil }
    return pointer.tokens[1]
  }

  /// Decodes percent-encoding. Nil if an escape is incomplete, or the result is not UTF-8.
  private static func decoded(_ text: Substring.UTF8View) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// The value of a hexadecimal digit.
func hexValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  default: nil
  }
}
