@testable import LockstepHTTP
import Testing

@Suite("The head of a response depends on its status, its body and the client", .timeLimit(.minutes(10)))
struct ResponseSerializerTests {
  struct ExpectedHead: Sendable, CustomTestStringConvertible {
    let name: String
    let response: Response
    let exchange: ResponseSerializer.Exchange
    let head: String
    var testDescription: String { name }

    init(_ name: String, _ response: Response, _ request: Asked = .init(), head: String) {
      self.name = name
      self.response = response
      exchange = .init(isHead: request.isHead, isVersion11: request.isVersion11, keepsAlive: request.keepsAlive)
      self.head = head
    }
  }

  struct Asked {
    var isHead = false
    var isVersion11 = true
    var keepsAlive = true
  }

  private static let date = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
  private static let text = Response(
    status: .ok,
    fields: fields((.contentType, "text/plain")),
    body: .bytes(Array("hello".utf8))
  )
  private static let stream = Response(status: .ok, body: .stream { _ in })

  private static func fields(_ all: (FieldName, String)...) -> HeaderFields {
    var fields = HeaderFields()
    for (name, value) in all { fields.append(name, value) }
    return fields
  }

  private static let expectedHeads = [
    ExpectedHead(
      "a body",
      text,
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 5\r\nContent-Type: text/plain\r\n\r\n"
    ),
    ExpectedHead(
      "HEAD has the length of GET",
      text,
      .init(isHead: true),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 5\r\nContent-Type: text/plain\r\n\r\n"
    ),
    ExpectedHead(
      "the last response on a connection",
      text,
      .init(keepsAlive: false),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 5\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    ),
    ExpectedHead(
      "HTTP/1.0 on a connection that is kept",
      text,
      .init(isVersion11: false),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 5\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\n\r\n"
    ),
    ExpectedHead(
      "HTTP/1.0, the last one",
      text,
      .init(isVersion11: false, keepsAlive: false),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 5\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    ),
    ExpectedHead(
      "no body",
      Response(status: .created),
      head: "HTTP/1.1 201 Created\r\n\(date)Content-Length: 0\r\n\r\n"
    ),
    ExpectedHead(
      "an empty body",
      Response(status: .ok, body: .bytes([])),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 0\r\n\r\n"
    ),
    ExpectedHead(
      "204 has no length",
      Response(status: .noContent),
      head: "HTTP/1.1 204 No Content\r\n\(date)\r\n"
    ),
    ExpectedHead(
      "204 with a body, which is not sent",
      Response(status: .noContent, body: .bytes([1])),
      head: "HTTP/1.1 204 No Content\r\n\(date)\r\n"
    ),
    ExpectedHead(
      "304 has no length",
      Response(status: .notModified, fields: fields(("ETag", "\"1\""))),
      head: "HTTP/1.1 304 Not Modified\r\n\(date)ETag: \"1\"\r\n\r\n"
    ),
    ExpectedHead(
      "304 with a stream, which is not sent",
      Response(status: .notModified, body: .stream { _ in }),
      head: "HTTP/1.1 304 Not Modified\r\n\(date)\r\n"
    ),
    ExpectedHead("a stream", stream, head: "HTTP/1.1 200 OK\r\n\(date)Transfer-Encoding: chunked\r\n\r\n"),
    ExpectedHead(
      "a stream to HEAD",
      stream,
      .init(isHead: true),
      head: "HTTP/1.1 200 OK\r\n\(date)Transfer-Encoding: chunked\r\n\r\n"
    ),
    ExpectedHead(
      "a stream to HTTP/1.0 ends with the connection",
      stream,
      .init(isVersion11: false, keepsAlive: false),
      head: "HTTP/1.1 200 OK\r\n\(date)Connection: close\r\n\r\n"
    ),
    ExpectedHead(
      "a length of many digits",
      Response(status: .ok, body: .bytes(Array(repeating: 0, count: 1_234_567))),
      head: "HTTP/1.1 200 OK\r\n\(date)Content-Length: 1234567\r\n\r\n"
    ),
  ]

  @Test("The head has exactly these bytes", arguments: expectedHeads)
  func heads(_ expected: ExpectedHead) {
    var output = Array("before".utf8)
    ResponseSerializer.appendHead(
      of: expected.response,
      for: expected.exchange,
      dateField: Array(Self.date.utf8),
      to: &output
    )
    #expect(String(decoding: output, as: UTF8.self) == "before" + expected.head)
  }

  @Test("A chunk has its size in hexadecimal, and an empty chunk is not written, because it would end the body")
  func chunks() {
    var output: [UInt8] = []
    output.append(chunk: Array("hello".utf8))
    output.append(chunk: [])
    output.append(chunk: Array(repeating: UInt8(ascii: "x"), count: 26))
    output.appendLastChunk()
    #expect(
      String(decoding: output, as: UTF8.self)
        == "5\r\nhello\r\n1a\r\n\(String(repeating: "x", count: 26))\r\n0\r\n\r\n"
    )
  }

  @Test("The decoder reads the chunks that the server writes")
  func roundTrip() throws {
    let body = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var coded: [UInt8] = []
    for start in stride(from: 0, to: body.count, by: 700) {
      coded.append(chunk: Array(body[start..<min(start + 700, body.count)]))
    }
    coded.appendLastChunk()
    var decoder = ChunkedDecoder(limits: Limits())
    var decoded: [UInt8] = []
    #expect(try decoder.decode(coded, into: &decoded) == coded.count)
    #expect(decoder.isDone)
    #expect(decoded == body)
  }

  @Test("Numbers are written in decimal", arguments: [0, 9, 10, 99, 100, 1_048_576, Int.max])
  func decimals(number: Int) {
    var output: [UInt8] = []
    output.append(decimal: number)
    #expect(String(decoding: output, as: UTF8.self) == "\(number)")
  }

  @Test("Every status line has its code, a phrase and one line end")
  func statusLines() {
    for status in ProblemKind.allCases.map(\.status) + [.ok, .created, .noContent, .notModified] {
      let line = status.line.description
      #expect(line.hasPrefix("HTTP/1.1 \(status.code) "))
      #expect(line.hasSuffix("\r\n"))
      #expect(line.utf8.count > 15)
      #expect(line.utf8.dropLast(2).allSatisfy { $0.isFieldValueByte })
    }
  }
}
