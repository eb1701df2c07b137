import Testing

@testable import LockstepHTTP

@Suite("Responses and URLs of other servers are parsed", .timeLimit(.minutes(10)))
struct ResponseHeadTests {
  private static func parse(_ text: String) throws -> (ResponseHead, length: Int)? {
    try Array(text.utf8).withUnsafeBytes { try ResponseHead.parse($0) }
  }

  @Test("A head keeps its fields, but not those of the connection")
  func fields() throws {
    let text =
      "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 3\r\nConnection: close\r\netag: \"a\"\r\nKeep-Alive: x\r\n"
      + "Cursor:  b \r\n\r\n"
    let (head, length) = try #require(try Self.parse(text + "abc"))
    #expect(head.status == .ok && head.body == .length(3) && length == text.utf8.count && !head.isEventStream)
    #expect(head.fields.all.map { "\($0.name)=\($0.value)" } == ["etag=\"a\"", "Cursor=b"])
  }

  @Test(
    "The body's end follows from the status and the fields",
    arguments: [
      ("200 OK", "Content-Length: 0\r\n", ResponseHead.Body.none), ("204 No Content", "", .none),
      ("304 Not Modified", "Content-Length: 9\r\n", .none), ("200 OK", "", .untilEnd), ("200", "", .untilEnd),
      ("200 OK", "Transfer-Encoding: chunked\r\n", .chunked),
    ]
  )
  func body(status: String, fields: String, expected: ResponseHead.Body) throws {
    let (head, _) = try #require(try Self.parse("HTTP/1.1 \(status)\r\n\(fields)\r\n"))
    #expect(head.body == expected)
  }

  @Test("A stream of events is recognised")
  func stream() throws {
    let text = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nTransfer-Encoding: Chunked\r\n\r\n"
    let (head, _) = try #require(try Self.parse(text))
    #expect(head.isEventStream && head.body == .chunked)
  }

  @Test("An incomplete head is awaited")
  func incomplete() throws {
    let text = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
    for length in 0..<text.utf8.count {
      let start = String(decoding: text.utf8.prefix(length), as: UTF8.self)
      #expect(try Self.parse(start) == nil)
    }
  }

  @Test(
    "A malformed head is refused",
    arguments: [
      "\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 999 X\r\n\r\n", "HTTP/1.1 200 OK\n\n",
      "HTTP/1.1 200 OK\r\nA\r\n\r\n", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    ]
  )
  func malformed(text: String) {
    #expect(throws: ResponseHead.Malformed.self) { try Self.parse(text) }
  }

  @Test("A head that never ends is refused")
  func endless() {
    let text = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "x", count: ResponseHead.longest)
    #expect(throws: ResponseHead.Malformed.self) { try Self.parse(text) }
  }

  @Test(
    "The URL of a server has a host and a port",
    arguments: [
      ("http://10.0.0.7:8080", "http://10.0.0.7:8080"), ("HTTP://node-1.internal/", "http://node-1.internal:80"),
      ("http://[::1]:9", "http://[::1]:9"),
    ]
  )
  func urls(text: String, expected: String) {
    #expect(ServerURL(text)?.description == expected)
  }
}
