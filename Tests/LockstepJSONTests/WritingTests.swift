import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct WritingTests {
  @Test("Compact text has no white space, and members are in their order")
  func compact() {
    let value: JSON = ["z": [1, 2.5, "x", true, false, nil], "a": [:], "m": [], "k": ["n": [["d": -7]]]]
    #expect(value.description == #"{"z":[1,2.5,"x",true,false,null],"a":{},"m":[],"k":{"n":[{"d":-7}]}}"#)
    #expect(value.encoded() == Array(value.description.utf8))
  }

  @Test(
    "Strings are escaped only where necessary",
    arguments: [
      ("", #""""#), ("plain", #""plain""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t\u{8}\u{C}", #""\n\r\t\b\f""#),
      ("\u{0}\u{1}\u{F}\u{10}\u{1F}", #""\u0000\u0001\u000f\u0010\u001f""#),
      ("\u{7F}é東🌌\u{2028}", "\"\u{7F}é東🌌\u{2028}\""),
    ]
  )
  func escapes(_ string: String, _ text: String) {
    #expect(JSON.string(string).description == text)
    #expect(JSON.object([string: 0]).description == "{\(text):0}")
  }

  @Test("Appending keeps existing bytes")
  func appending() {
    var bytes = Array("data: ".utf8)
    bytes.append(json: JSON.array([1, "a"]))
    #expect(String(decoding: bytes, as: UTF8.self) == #"data: [1,"a"]"#)
  }

  @Test("Hot paths can write their JSON by hand")
  func byHand() {
    var bytes: [UInt8] = []
    bytes.append(json: "say \"hi\"\n")
    bytes.append(json: -42)
    bytes.append(json: Int.min)
    bytes.append(json: JSON.array([nil]))
    let text = #""say \"hi\"\n"-42-9223372036854775808[null]"#
    #expect(String(decoding: bytes, as: UTF8.self) == text)
  }

  @Test(
    "A member is appended with its name escaped where necessary",
    arguments: [
      ("", "1", #"{"":1"#, true), ("name", "\"x\"", #"{"name":"x""#, true), ("é東", "[]", #"{"é東":[]"#, true),
      ("a long name \"in quotes\"", "{}", #"{"a long name \"in quotes\"":{}"#, false), ("\n", "", #"{"\n":"#, false),
    ]
  )
  func members(_ name: String, _ value: String, _ text: String, _ isPlain: Bool) {
    var bytes = Array("{".utf8)
    #expect(bytes.append(member: name.utf8Span.span, json: value.utf8Span.span) == isPlain)
    #expect(String(decoding: bytes, as: UTF8.self) == text)
  }

  @Test("Integers of every length are written in full")
  func integerLengths() {
    var power: UInt64 = 1
    for _ in 0..<20 {
      for value in [power - 1, power, power + 1] {
        #expect(JSON(value).description == String(value))
        #expect(JSON(Int64(truncatingIfNeeded: value)).description == String(Int64(truncatingIfNeeded: value)))
      }
      power = power.multipliedReportingOverflow(by: 10).partialValue
    }
  }

  @Test("The measured size and depth match the text", arguments: measured)
  func measures(_ value: JSON, _ depth: Int) {
    #expect(value.encodedByteCount == value.encoded().count)
    #expect(value.depth == depth)
  }

  static let measured: [(JSON, Int)] = [
    (nil, 0), (true, 0), (false, 0), (-10, 0), (.unsigned(.max), 0), (1.5, 0), ("a\"é\n\u{1}", 0), ([], 1), ([:], 1),
    ([1, 2, 3], 1), (["a": 1, "b\n": [[], [[1]]]], 4),
  ]
}
