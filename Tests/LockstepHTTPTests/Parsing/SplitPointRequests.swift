import Testing

/// Good and bad bytes of a client. However the network splits them, their meaning must stay the
/// same.
struct ByteStream: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  var testDescription: String { name }

  init(_ name: String, _ text: String) {
    self.name = name
    bytes = Array(text.utf8)
  }
}

extension ByteStream {
  static let all = good + pipelined + bad + beyondLimits

  private static let good = [
    ByteStream("the shortest request", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
    ByteStream("HTTP/1.0 without fields", "GET / HTTP/1.0\r\n\r\n"),
    ByteStream("several fields", "GET /a?b=c HTTP/1.1\r\nHost: h:80\r\nAccept: */*\r\nUser-Agent: curl/8\r\n\r\n"),
    ByteStream("an empty line before", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("two empty lines before", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("five empty lines before", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("a body by its length", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"),
    ByteStream("a body with line ends in it", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n\r\n\r\n\n\n"),
    ByteStream("a body in two chunks", chunked("3\r\nabc\r\nA;x=\"y;z\"\r\n0123456789\r\n0\r\n\r\n")),
    ByteStream("a chunked body with a trailer", chunked("1\r\n\r\r\n000;last\r\nSum: 1\r\nOther:\r\n\r\n")),
    ByteStream("an empty chunked body", chunked("0\r\n\r\n")),
    ByteStream("an expectation", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx"),
    ByteStream("OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("an absolute target", "GET http://a.example:8080/b?c HTTP/1.1\r\nHost: other\r\n\r\n"),
    ByteStream("CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"),
    ByteStream("empty and padded values", "GET / HTTP/1.1\r\nHost: \t h \t\r\nEmpty:\r\nBlank:   \r\n\r\n"),
    ByteStream("a head that stops", "GET / HTTP/1.1\r\nHost: h\r\nAcc"),
    ByteStream("a body that stops", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nonly"),
    ByteStream("chunks that stop", chunked("5\r\nab")),
    ByteStream("only empty lines", "\r\n\r\n\r\n\r"),
  ]

  private static let pipelined = [
    ByteStream("two requests", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("an empty line between", "GET /1 HTTP/1.0\r\n\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"),
    ByteStream("two empty lines between", "GET /1 HTTP/1.0\r\n\r\n\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"),
    ByteStream("a request after a body", "PUT / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.0\r\n\r\n"),
    ByteStream("a request after chunks", chunked("2\r\nab\r\n0\r\n\r\n") + "GET /2 HTTP/1.0\r\n\r\n"),
    ByteStream(
      "a body that looks like a request",
      "PUT / HTTP/1.0\r\nContent-Length: 18\r\n\r\nGET /2 HTTP/1.0\r\n\r\n"
    ),
    ByteStream("a bad request after a good one", "GET /1 HTTP/1.0\r\n\r\nGET /2\r\n\r\n"),
  ]

  private static let bad = [
    ByteStream("a bare line feed in the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n"),
    ByteStream("a bare line feed in a field", "GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n"),
    ByteStream("a bare line feed as the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n"),
    ByteStream("a bare carriage return in a value", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n"),
    ByteStream("a carriage return too many", "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n\r\n"),
    ByteStream("a carriage return first", "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("a line feed first", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("an empty line and a carriage return first", "\r\n\rGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ByteStream("a folded field", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n"),
    ByteStream(
      "both framings",
      "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx"
    ),
    ByteStream("a TLS hello", "\u{16}\u{3}\u{1}\u{2}\r\n\r\n"),
    ByteStream("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ByteStream("a wrong chunk size", chunked("x\r\n\r\n")),
    ByteStream("a chunk too long", chunked("2\r\nabc\r\n0\r\n\r\n")),
    ByteStream("a lone carriage return after a chunk", chunked("2\r\nab\rc\r\n0\r\n\r\n")),
    ByteStream("a bare line feed after a chunk's size", chunked("2\nab\r\n0\r\n\r\n")),
    ByteStream("a bare line feed after a chunk", chunked("2\r\nab\n0\r\n\r\n")),
    ByteStream("a bare line feed in the trailer", chunked("0\r\nA: b\n\r\n")),
    ByteStream("a folded trailer", chunked("0\r\nA: b\r\n c\r\n\r\n")),
    ByteStream("a chunk size past every number", chunked("1\r\na\r\nffffffffffffffffff\r\n")),
  ]

  /// For the limits of `SplitPointTests`: a request line of 40 bytes, a header section of 60, 3
  /// fields, chunk lines of 20.
  private static let beyondLimits = [
    ByteStream("a request line of the limit", "GET /\(letters(27)) HTTP/1.0\r\n\r\n"),
    ByteStream("a request line past it", "GET /\(letters(28)) HTTP/1.0\r\n\r\n"),
    ByteStream("a request line without an end", "GET /\(letters(60))"),
    ByteStream("a request line past it that ends in a bare line feed", "GET /\(letters(60)) HTTP/1.0\n\r\n"),
    ByteStream("a header section of the limit", "GET / HTTP/1.0\r\nA: \(letters(55))\r\n\r\n"),
    ByteStream("a header section past it", "GET / HTTP/1.0\r\nA: \(letters(56))\r\n\r\n"),
    ByteStream("a header section two past it", "GET / HTTP/1.0\r\nA: \(letters(57))\r\n\r\n"),
    ByteStream("a header section three past it", "GET / HTTP/1.0\r\nA: \(letters(58))\r\n\r\n"),
    ByteStream("a header section without an end", "GET / HTTP/1.0\r\nA: \(letters(90))"),
    ByteStream("a header section past it with a bare line feed", "GET / HTTP/1.0\r\nA: \(letters(90))\n\r\n"),
    ByteStream("as many fields as allowed", "GET / HTTP/1.0\r\nA:\r\nB:\r\nC:\r\n\r\n"),
    ByteStream("one field more", "GET / HTTP/1.0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n"),
    ByteStream("more empty lines than a request line is long", String(repeating: "\r\n", count: 30)),
    ByteStream("a chunk line of the limit", chunked("1;\(letters(18))\r\nx\r\n0\r\n\r\n")),
    ByteStream("a chunk line past it", chunked("1;\(letters(19))\r\nx\r\n0\r\n\r\n")),
    ByteStream("a chunk line past it with a bare line feed", chunked("1;\(letters(40))\nx\r\n0\r\n\r\n")),
    ByteStream("more extensions than a header section", chunked(extensions(16) + "0\r\n\r\n")),
    ByteStream("more trailer fields than allowed", chunked("0\r\nA:\r\nB:\r\nC:\r\nD:\r\n\r\n")),
  ]

  private static func chunked(_ body: String) -> String {
    "PUT / HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n" + body
  }

  private static func letters(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static func extensions(_ count: Int) -> String {
    String(repeating: "1;\(letters(18))\r\nx\r\n", count: count)
  }
}
