@testable import LockstepHTTP
import Testing

@Suite("A body's end is unambiguous, or the request is refused", .timeLimit(.minutes(10)))
struct FramingTests {
  struct Framed: Sendable, CustomTestStringConvertible {
    let fields: [String]
    let body: RequestHead.Body
    var testDescription: String { fields.joined(separator: ", ") }

    init(_ fields: String..., body: RequestHead.Body) {
      self.fields = fields
      self.body = body
    }
  }

  @Test(
    "The fields determine where a body ends",
    arguments: [
      Framed(body: .none),
      Framed("Content-Length: 0", body: .none),
      Framed("Content-Length: 000", body: .none),
      Framed("Content-Length: 1", body: .length(1)),
      Framed("content-length:\t42 ", body: .length(42)),
      Framed("Content-Length: 007", body: .length(7)),
      Framed("Content-Length: 9223372036854775807", body: .length(.max)),
      Framed("Content-Length: 0000000000000000000000000000000000000005", body: .length(5)),
      Framed("Content-Lengths: x", "X-Content-Length: y", body: .none),
      Framed("Transfer-Encoding: chunked", body: .chunked),
      Framed("transfer-encoding:CHUNKED", body: .chunked),
      Framed("Transfer-Encoding: Chunked \t", body: .chunked),
      Framed("Transfer-Encoding: , chunked,", body: .chunked),
      Framed("Transfer-Encoding:", "Transfer-Encoding: chunked", body: .chunked),
    ]
  )
  func bodies(_ expected: Framed) throws {
    for method in ["GET", "POST", "DELETE", "OPTIONS"] {
      #expect(try head("\(method) / HTTP/1.1", fields: expected.fields).body == expected.body)
    }
  }

  @Test(
    "A Content-Length that is not one decimal number is refused",
    arguments: [
      "", "+5", "-5", "-0", "5a", "a5", "0x5", "5.0", "5e1", "5 5", "5,5", "5, 5", "5,6", ",5", "5,", "1_000", "\"5\"",
      "5;", "\u{665}", "½",
    ]
  )
  func badLength(value: String) throws {
    try expectRefusal(.field("Content-Length: \(value)", saying: "decimal number"))
  }

  @Test(
    "A Content-Length beyond 64 bits is too large and does not wrap around",
    arguments: [
      "9223372036854775808", "18446744073709551616", "18446744073709551621", "99999999999999999999",
      "100000000000000000000000000000000000000000",
    ]
  )
  func hugeLength(value: String) throws {
    try expectRefusal(.field("Content-Length: \(value)", .payloadTooLarge, saying: "larger than this server accepts"))
  }

  @Test(
    "Two Content-Lengths are refused, whether they differ or not",
    arguments: [
      "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5\r\nContent-Length: 5",
      "Content-Length: 0\r\ncontent-length: 0", "Content-Length: 5\r\nA: b\r\nCONTENT-LENGTH: 5",
    ]
  )
  func twoLengths(lines: String) throws {
    try expectRefusal(.field(lines, saying: "more than one Content-Length"))
  }

  @Test(
    "Content-Length together with Transfer-Encoding is refused, in any order and with any values",
    arguments: [
      "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5",
      "Content-Length: 0\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: identity",
      "Content-Length: 5\r\nTransfer-Encoding:", "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked",
    ]
  )
  func bothFramings(lines: String) throws {
    try expectRefusal(.field(lines, saying: "both Transfer-Encoding and Content-Length"))
  }

  @Test(
    "A Transfer-Encoding that does not end in chunked is refused, because the end of the body is unknown",
    arguments: [
      "gzip", "identity", "", ",", "chunked, gzip", "chunked, identity", "chunked;q=1", "chunked x", "xchunked",
      "chunke",
      "chunkedd", "\"chunked\"", "'chunked'", "chunked\u{A0}", "chun\u{212A}ed", "c\u{200B}hunked", "ｃhunked",
    ]
  )
  func notChunked(value: String) throws {
    try expectRefusal(.field("Transfer-Encoding: \(value)", saying: "is not chunked"))
  }

  @Test(
    "Control characters cannot hide a coding",
    arguments: ["\u{B}chunked", "chunked\u{B}", "chun\u{0}ked", "\u{C}chunked", "chunked\u{7F}"]
  )
  func hiddenCoding(value: String) throws {
    try expectRefusal(.field("Transfer-Encoding: \(value)", saying: "control character"))
  }

  @Test(
    "A body that is chunked twice is refused",
    arguments: [
      "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: chunked, gzip, Chunked",
    ]
  )
  func chunkedTwice(lines: String) throws {
    try expectRefusal(.field(lines, saying: "twice"))
  }

  @Test(
    "An unknown coding before chunked gets 501",
    arguments: [
      "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: identity, chunked", "Transfer-Encoding: x;a=\"b\", chunked",
      "Transfer-Encoding: chun\u{212A}ed, chunked",
    ]
  )
  func otherCoding(lines: String) throws {
    try expectRefusal(.field(lines, .notImplemented, saying: "transfer coding"))
  }

  @Test("HTTP/1.0 has no Transfer-Encoding", arguments: ["chunked", "gzip", "gzip, chunked", ""])
  func version10(value: String) throws {
    let request = "PUT / HTTP/1.0\r\nTransfer-Encoding: \(value)\r\n\r\n"
    try expectRefusal(Refusal(value, request, saying: "HTTP/1.0"))
  }

  @Test(
    "The only accepted expectation is 100-continue",
    arguments: ["100-continues", "200-ok", "", "100-continue, x", "100"]
  )
  func badExpectation(value: String) throws {
    try expectRefusal(.field("Expect: \(value)", .expectationFailed, saying: "100-continue"))
  }

  @Test(
    "A client can expect 100 Continue only in HTTP/1.1 and for a body",
    arguments: [
      ("PUT / HTTP/1.1", "Content-Length: 1", true), ("PUT / HTTP/1.1", "Transfer-Encoding: chunked", true),
      ("PUT / HTTP/1.1", "Content-Length: 0", false), ("PUT / HTTP/1.1", "A: b", false),
      ("PUT / HTTP/1.0", "Content-Length: 1", false),
    ]
  )
  func expectation(line: String, framing: String, expects: Bool) throws {
    for value in ["100-continue", "100-Continue", "100-CONTINUE"] {
      #expect(try head(line, fields: [framing, "Expect: \(value)"]).expectsContinue == expects)
    }
    #expect(try !head(line, fields: [framing]).expectsContinue)
  }
}
