import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct ParsingTests {
  @Test("Bytes, a string and a buffer of the same text give the same value")
  func everyFormOfText() throws {
    let text = #" {"é": [1, -2.5, "x", true, null]} "#
    let bytes = Array(text.utf8)
    let expected: JSON = ["é": [1, -2.5, "x", true, nil]]
    #expect(try JSON(parsing: text) == expected)
    #expect(try JSON(parsing: bytes) == expected)
    #expect(try bytes.withUnsafeBytes { try JSON(parsing: $0) } == expected)
  }

  @Test("A buffer without memory is empty text")
  func emptyBuffers() {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: UnsafeRawBufferPointer(start: nil, count: 0)) }
    #expect(error?.kind == .emptyText)
    #expect(throws: JSONParseError.self) { try JSON(parsing: []) }
    #expect(throws: JSONParseError.self) { try JSON(parsing: "") }
  }

  @Test(
    "Strings are unescaped",
    arguments: [
      (#""\u0041\u00e9\u6771\ud83c\udf0c""#, "Aé東🌌"),
      (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
      (#""\u0000""#, "\0"),
      (
        #""plain, and longer than the fifteen bytes of a small string""#,
        "plain, and longer than the fifteen bytes of a small string"
      ),
      ("\"Grüße, 東京 und 🌌: länger als fünfzehn Bytes\"", "Grüße, 東京 und 🌌: länger als fünfzehn Bytes"),
      (#""1234567\n""#, "1234567\n"),
      (#""12345678\n12345678\n""#, "12345678\n12345678\n"),
      ("\"e\u{301}\"", "e\u{301}"),
    ]
  )
  func strings(_ text: String, _ expected: String) throws {
    let string = try #require(try JSON(parsing: text).stringValue)
    #expect(Array(string.utf8) == Array(expected.utf8))
  }

  @Test("The end of a string is found at every offset in a word of eight bytes")
  func stringLengths() throws {
    for length in 0..<40 {
      for filling in ["a", "é", "🌌"] {
        let content = String(repeating: filling, count: length)
        #expect(try JSON(parsing: "\"\(content)\"") == .string(content))
        #expect(try JSON(parsing: "[\"\(content)\",1]") == [.string(content), 1])
        #expect(try JSON(parsing: "\"\(content)\\n\(content)\"") == .string("\(content)\n\(content)"))
      }
    }
  }

  @Test("Every forbidden byte in a string is rejected, at every offset in a word")
  func controlCharacters() {
    for byte in UInt8(0)..<0x20 {
      for before in 0..<17 {
        let text = [0x22] + [UInt8](repeating: 0x61, count: before) + [byte, 0x61, 0x22]
        let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
        #expect(error?.kind == .controlCharacter)
        #expect(error?.byteOffset == before + 1)
      }
    }
  }

  @Test("Invalid UTF-8 is rejected at every offset in a word, in strings and names")
  func invalidBytes() {
    for before in 0..<17 {
      for after in [0, 1, 7, 20] {
        let text = [UInt8](repeating: 0x61, count: before) + [0xFF] + [UInt8](repeating: 0x61, count: after)
        for (start, end) in [("[\"", "\", 12345678]"), ("{\"", "\": 12345678}"), ("[\"\\n", "\", 12345678]")] {
          let error = #expect(throws: JSONParseError.self) {
            try JSON(parsing: Array(start.utf8) + text + Array(end.utf8))
          }
          #expect(error?.kind == .invalidUTF8)
          #expect(error?.byteOffset == start.utf8.count + before)
        }
      }
    }
  }

  @Test("The last value of a repeated name wins, at the position of the first")
  func repeatedNames() throws {
    let few = try JSON(parsing: #"{"a":1,"b":2,"\u0061":3}"#)
    #expect(few.description == #"{"a":3,"b":2}"#)
    let members = (0..<100).map { "\"name\($0 % 50)\":\($0)" }.joined(separator: ",")
    let many = try JSON(parsing: "{\(members)}")
    #expect(many.objectValue?.count == 50)
    #expect(many["name0"] == 50)
    #expect(many["name49"] == 99)
    #expect(many.objectValue?.names.first == "name0")
  }

  @Test("Names that only look the same are different names")
  func canonicallyEquivalentNames() throws {
    let value = try JSON(parsing: "{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(value.objectValue?.count == 2)
    #expect(value["\u{E9}"] == 1)
    #expect(value["e\u{301}"] == 2)
  }

  @Test("Depth is accepted up to the limit and rejected beyond it", arguments: [1, 2, 128, 1024])
  func depthLimit(_ limit: Int) throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(try JSON(parsing: nested(limit), maximumDepth: limit).depth == limit)
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: nested(limit + 1), maximumDepth: limit) }
    #expect(error?.kind == .depthExceeded)
    #expect(error?.byteOffset == limit)
  }

  @Test("An impossible depth limit is clamped")
  func clampedDepthLimit() throws {
    let tooDeep = String(repeating: "[", count: 1025) + String(repeating: "]", count: 1025)
    #expect(JSON.highestDepth == 1024)
    #expect(throws: JSONParseError.self) { try JSON(parsing: tooDeep, maximumDepth: 1_000_000) }
    for depth in [0, -1] {
      #expect(try JSON(parsing: "1", maximumDepth: depth) == 1)
      #expect(throws: JSONParseError.self) { try JSON(parsing: "[]", maximumDepth: depth) }
    }
  }

  @Test("Hostile text takes linear time", arguments: 0..<6)
  func hostileTexts(_ kind: Int) throws {
    try expectLinearGrowth(from: 2_000, of: { Self.hostileTexts($0)[kind] }) { _, text in
      _ = try JSON(parsing: text)
    }
  }

  private static func hostileTexts(_ many: Int) -> [String] {
    [
      "[" + String(repeating: "[],", count: many) + "0]",
      "{" + (0..<many).map { "\"\($0)\":0" }.joined(separator: ",") + "}",
      "{" + String(repeating: "\"same\":0,", count: many) + "\"same\":1}",
      "0." + String(repeating: "123456789", count: many),
      "\"" + String(repeating: "\\u0041", count: many) + "\"",
      String(repeating: " ", count: many * 10) + "1",
    ]
  }
}
