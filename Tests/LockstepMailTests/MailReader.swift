/// Reads mails as a client does, for tests. It knows only what the server's mails contain.
struct MailReader {
  /// The fields of the head, unfolded, with their names in lower case.
  private(set) var fields: [(name: String, value: String)] = []
  /// The bodies of the two parts, decoded, by type.
  private(set) var parts: [String: String] = [:]
  /// The lines without their line ends.
  let lines: [String]

  struct Failure: Error {
    let reason: String
  }

  init(_ mail: [UInt8]) throws {
    let text = String(decoding: mail, as: UTF8.self)
    guard text.hasSuffix("\r\n") else { throw Failure(reason: "the last line has no end") }
    lines = Self.split(String(text.unicodeScalars.dropLast(2)), at: "\r\n")
    guard lines.allSatisfy({ !$0.unicodeScalars.contains("\r") && !$0.unicodeScalars.contains("\n") }) else {
      throw Failure(reason: "a line end is not CRLF")
    }
    guard let end = lines.firstIndex(of: "") else { throw Failure(reason: "the head has no end") }
    for line in lines[..<end] {
      if line.hasPrefix(" ") {
        guard !fields.isEmpty else { throw Failure(reason: "the first line is folded") }
        fields[fields.count - 1].value += line
      } else {
        let parts = Self.split(line, at: ": ")
        guard parts.count >= 2 else { throw Failure(reason: "no field: \(line)") }
        fields.append((parts[0].lowercased(), parts.dropFirst().joined(separator: ": ")))
      }
    }
    guard let type = self["content-type"], let boundary = Self.split(type, at: "\"").dropFirst().first else {
      throw Failure(reason: "no boundary")
    }
    let body = lines[(end + 1)...].joined(separator: "\n")
    let pieces = Self.split(body, at: "--\(boundary)")
    guard pieces.count == 4, pieces[0].isEmpty, pieces[3] == "--" else { throw Failure(reason: "the parts are wrong") }
    for piece in pieces[1...2] {
      let halves = Self.split(piece, at: "\n\n")
      guard halves.count > 1, let type = Self.split(halves[0], at: ";").first else { throw Failure(reason: "a part") }
      let name = Self.split(type, at: ": ").last ?? ""
      if halves[0].hasSuffix("\nContent-Transfer-Encoding: 7bit") {
        let content = halves[1...].joined(separator: "\n\n")
        guard content.hasSuffix("\n"), content.utf8.allSatisfy({ $0 < 0x80 }) else { throw Failure(reason: "7bit") }
        // The last line end belongs to the boundary.
        parts[name] = String(content.dropLast()).replacing("\n", with: "\r\n")
        continue
      }
      guard halves[0].hasSuffix("\nContent-Transfer-Encoding: base64"), halves.count == 2 else {
        throw Failure(reason: "the encoding")
      }
      parts[name] = String(decoding: try Self.base64(halves[1].filter { $0 != "\n" }), as: UTF8.self)
    }
  }

  subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The text of a field with encoded words.
  static func decoded(_ value: String) throws -> String {
    guard value.hasPrefix("=?UTF-8?B?") else { return value }
    return String(
      decoding: try split(value, at: " ").flatMap { word -> [UInt8] in
        guard word.hasPrefix("=?UTF-8?B?"), word.hasSuffix("?="), word.utf8.count <= 75 else {
          throw Failure(reason: "not an encoded word: \(word)")
        }
        let bytes = try base64(String(word.dropFirst(10).dropLast(2)))
        // Each word is whole characters.
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Failure(reason: "a character is cut") }
        return bytes
      },
      as: UTF8.self
    )
  }

  static func base64(_ text: String) throws -> [UInt8] {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    let values = Dictionary(uniqueKeysWithValues: zip(alphabet, 0...))
    guard text.count % 4 == 0 else { throw Failure(reason: "the length of base64 is \(text.count)") }
    let digits = text.reversed().drop { $0 == "=" }.reversed()
    guard text.count - digits.count <= 2 else { throw Failure(reason: "too much padding") }
    var (bytes, bits, count) = ([UInt8](), 0, 0)
    for digit in digits {
      guard let value = values[digit] else { throw Failure(reason: "the character \(digit)") }
      bits = (bits << 6 | value) & 0xFFFF
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> count))
    }
    return bytes
  }

  /// Compares scalars, because a CR and an LF are one character.
  private static func split(_ text: String, at separator: String) -> [String] {
    let (bytes, mark) = (Array(text.utf8), Array(separator.utf8))
    var (parts, start, place) = ([String](), 0, 0)
    while place < bytes.count {
      if bytes[place...].starts(with: mark) {
        parts.append(String(decoding: bytes[start..<place], as: UTF8.self))
        place += mark.count
        start = place
      } else {
        place += 1
      }
    }
    return parts + [String(decoding: bytes[start...], as: UTF8.self)]
  }
}
