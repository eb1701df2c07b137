/// The encodings of mails (RFC 2045 and RFC 2047).
enum MailEncoding {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The base64 of bytes, with padding.
  static func base64(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var rest = bytes[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        text.append(place <= group.count ? alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)] : UInt8(ascii: "="))
      }
      rest = rest.dropFirst(3)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether every relay passes a text on as it is: ASCII, in lines of at most 900 bytes. Lines
  /// that begin with a dot or with `From` are not passed on by all.
  static func isPlain(_ text: String) -> Bool {
    text.utf8.split(separator: UInt8(ascii: "\n")).allSatisfy { line in
      line.count <= 900 && line.allSatisfy { (0x20...0x7E).contains($0) } && !line.starts(with: ".".utf8)
        && !line.starts(with: "From".utf8)
    }
  }

  /// A text with CRLF at its line ends.
  static func lines(_ text: String) -> [UInt8] {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return Array(lines.joined(separator: Array("\r\n".utf8)))
  }

  /// The base64 of a text with CRLF at its line ends, in lines of 76 characters.
  static func body(_ text: String) -> String {
    var rest = base64(lines(text))[...]
    var body = ""
    while !rest.isEmpty {
      body += rest.prefix(76) + "\r\n"
      rest = rest.dropFirst(76)
    }
    return body
  }

  /// The value of a header field with any text. Control characters become spaces, so that no text
  /// can add a field.
  static func unstructured(_ text: String, after name: String) -> String {
    let text = harmless(text)
    let fits = text.utf8.count + name.utf8.count + 2 <= 76
    let isPlain =
      text.utf8.allSatisfy { $0 < 0x80 } && !text.contains("=?") && !text.hasPrefix(" ") && !text.hasSuffix(" ")
    return fits && isPlain ? text : words(text)
  }

  /// The name of a sender: as it is, quoted or encoded.
  static func phrase(_ text: String) -> String {
    let text = harmless(text)
    guard text.utf8.allSatisfy({ $0 < 0x80 }), text.utf8.count <= 60, !text.contains("=?") else { return words(text) }
    let quoted = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(quoted)\""
  }

  /// Encoded words of at most 75 characters, each on a line of its own. A character is in one word.
  private static func words(_ text: String) -> String {
    // With the name of a field before it, or an address after it, a line stays below 77 characters.
    let longest = 39
    var (words, word) = ([String](), [UInt8]())
    for scalar in text.unicodeScalars {
      let bytes = Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      if word.count + bytes.count > longest {
        words.append(base64(word))
        word = []
      }
      word += bytes
    }
    if !word.isEmpty { words.append(base64(word)) }
    return words.map { "=?UTF-8?B?\($0)?=" }.joined(separator: "\r\n ")
  }

  private static func harmless(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: result.append(" ")
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  /// The text for HTML, also inside quoted attributes.
  static func html(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
      .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
  }
}
