@testable import LockstepHTTP
import Testing

@Suite(
  "A field line is a name, a colon and a value without control characters",
  .timeLimit(.minutes(10))
)
struct FieldLineTests {
  @Test(
    "The value has no spaces and tabs at its ends",
    arguments: [
      ("A:b", "b"), ("A: b", "b"), ("A:\tb", "b"), ("A: \t b \t ", "b"), ("A:", ""), ("A: \t ", ""),
      ("A: b  c", "b  c"),
      ("A: b\tc", "b\tc"), ("A: :", ":"), ("A: \"q\"", "\"q\""), ("A: Grüße", "Grüße"), ("a: b", "b"),
    ]
  )
  func values(line: String, value: String) throws {
    #expect(try head(fields: [line])["A"] == value)
  }

  @Test("A byte that is not UTF-8 becomes a replacement character")
  func obsoleteText() throws {
    let bytes = Array("GET / HTTP/1.0\r\nA: x".utf8) + [0xFF] + Array("y\r\n\r\n".utf8)
    #expect(try head(bytes)["A"] == "x\u{FFFD}y")
  }

  @Test("Names are compared without regard to case, and the first field of a name wins")
  func names() throws {
    let head = try head(fields: ["ETAG: first", "etag: second"])
    #expect(head["ETag"] == "first")
    #expect(head.has("eTaG"))
    #expect(!head.has("ETa"))
    #expect(!head.has("ETagg"))
    #expect(head["Missing"] == nil)
  }

  @Test("A field with an empty value exists")
  func emptyField() throws {
    #expect(try head(fields: ["Accept:"]).has(.accept))
    #expect(try head(fields: ["Accept:"])[.accept] == "")
  }

  @Test(
    "All fields of a name form one list without empty elements",
    arguments: [
      (["A: b"], ["b"]), (["A: b,c"], ["b", "c"]), (["A: b", "A: c"], ["b", "c"]), (["A: b , ,\tc,"], ["b", "c"]),
      (["A: ,,"], []), (["A:"], []), ([], []), (["A: b", "B: x", "a: c, d"], ["b", "c", "d"]),
    ] as [([String], [String])]
  )
  func lists(lines: [String], elements: [String]) throws {
    #expect(try head(fields: lines).list("A") == elements)
  }

  @Test(
    "A line that is not a field is refused, and the detail says why",
    arguments: [
      Refusal.field("A : b", saying: "space between"),
      .field("A\t: b", saying: "space between"),
      .field(": b", saying: "no name"),
      .field(":", saying: "no name"),
      .field("A", saying: "no colon"),
      .field("A b: c", saying: "space between"),
      .field(" A: b", saying: "folded"),
      .field("\tA: b", saying: "folded"),
      .field(" ", saying: "folded"),
      .field("A: b\r\n c", saying: "folded"),
      .field("A: b\r\n\tc", saying: "folded"),
      .field("A: b\r\n ", saying: "folded"),
      .field("A(: b", saying: "(40)"),
      .field("É: b", saying: "(195)"),
      .field("A\u{0}: b", saying: "(0)"),
      .field("\"A\": b", saying: "(34)"),
      .field("A/B: c", saying: "(47)"),
    ]
  )
  func refusals(_ expected: Refusal) throws {
    try expectRefusal(expected)
  }

  @Test("White space before the first field is refused", arguments: [" ", "\t"])
  func indentedFirstField(space: String) throws {
    try expectRefusal(Refusal("indented", "GET / HTTP/1.1\r\n\(space)Host: h\r\n\r\n", saying: "indented"))
  }

  @Test("Every control character except the tab is refused in a value", arguments: Array(0..<0x20) + [0x7F] as [UInt8])
  func controlCharacters(byte: UInt8) throws {
    let request = Array("GET / HTTP/1.1\r\nHost: h\r\nA: b".utf8) + [byte] + Array("c\r\n\r\n".utf8)
    switch byte {
    case 0x09: #expect(refusal(of: request) == nil)
    case 0x0A: try expectRefusal(Refusal("LF", request, saying: "bare line feed"))
    default: try expectRefusal(Refusal("control", request, saying: "field A has a control character (byte \(byte))"))
    }
  }

  @Test(
    "Lines end in CR LF, and a bare line feed is refused everywhere",
    arguments: [
      "GET / HTTP/1.1\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\n",
      "GET / HTTP/1.1\n\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\nB: c\r\n\r\n", "GET\n/ HTTP/1.1\r\n\r\n",
    ]
  )
  func bareLineFeed(request: String) throws {
    try expectRefusal(Refusal("", request, saying: "bare line feed"))
  }

  @Test(
    "A bare carriage return is refused everywhere",
    arguments: [
      "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n",
      "GET / HTTP/1.1\r\nHo\rst: h\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\nA:\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\rA: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n\r\n", "GET /\r HTTP/1.1\r\nHost: h\r\n\r\n", "\r\rGET / HTTP/1.0\r\n\r\n",
    ]
  )
  func bareCarriageReturn(request: String) {
    #expect(refusal(of: request)?.kind == .malformedRequest)
  }

  @Test(
    "Fields that identify the client or the request may occur once only",
    arguments: [
      ["Authorization: Bearer a", "Authorization: Bearer b"], ["authorization: Bearer a", "AUTHORIZATION: Bearer a"],
      ["Idempotency-Key: a", "Idempotency-Key: b"], ["Idempotency-Key:", "idempotency-key:"],
    ]
  )
  func onceAtMost(lines: [String]) throws {
    #expect(try head(fields: [lines[0], "Authorizatiom: c", "Idempotency-Kez: c"])[.host] == "h")
    try expectRefusal(.field(lines.joined(separator: "\r\n"), saying: "more than one"))
  }
}
