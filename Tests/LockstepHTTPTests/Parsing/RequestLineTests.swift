@testable import LockstepHTTP
import Testing

@Suite("A request line is a method, a target and a version, separated by one space", .timeLimit(.minutes(10)))
struct RequestLineTests {
  struct Line: Sendable, CustomTestStringConvertible {
    let line: String
    let form: RequestLine.Form
    let path: String
    let query: String
    var testDescription: String { line }

    init(_ line: String, _ form: RequestLine.Form = .path, path: String, query: String = "") {
      self.line = line
      self.form = form
      self.path = path
      self.query = query
    }
  }

  @Test(
    "A target is split into path and query, whatever its form",
    arguments: [
      Line("GET / HTTP/1.1", path: "/"),
      Line("GET /a/b HTTP/1.1", path: "/a/b"),
      Line("GET /a?b=c&d HTTP/1.1", path: "/a", query: "b=c&d"),
      Line("GET /a? HTTP/1.1", path: "/a"),
      Line("GET /a?b?c HTTP/1.1", path: "/a", query: "b?c"),
      Line("GET /? HTTP/1.1", path: "/"),
      Line("GET //a//b/ HTTP/1.1", path: "//a//b/"),
      Line("GET /%2F%zz HTTP/1.1", path: "/%2F%zz"),
      Line("GET /a:b@c;d=e,f!$&'()*+~_- HTTP/1.1", path: "/a:b@c;d=e,f!$&'()*+~_-"),
      Line("GET http://h/a?b HTTP/1.1", path: "/a", query: "b"),
      Line("GET HTTPS://h.example:443/a HTTP/1.1", path: "/a"),
      Line("GET http://[::1]:8080/a HTTP/1.1", path: "/a"),
      Line("GET http://h HTTP/1.1", path: ""),
      Line("GET http://h:80 HTTP/1.1", path: ""),
      Line("GET http://h?b HTTP/1.1", path: "", query: "b"),
      Line("OPTIONS * HTTP/1.1", .server, path: ""),
      Line("OPTIONS /a HTTP/1.1", path: "/a"),
      Line("CONNECT h:443 HTTP/1.1", .authority, path: ""),
    ]
  )
  func targets(_ expected: Line) throws {
    let head = try head(expected.line, fields: [])
    #expect(head.targetForm == expected.form)
    #expect(head.path == expected.path)
    #expect(head.query == expected.query)
  }

  @Test(
    "The version is 1.1 or 1.0, and a later 1.x counts as 1.1",
    arguments: [("HTTP/1.1", true), ("HTTP/1.0", false), ("HTTP/1.2", true), ("HTTP/1.9", true)]
  )
  func versions(version: String, isVersion11: Bool) throws {
    #expect(try head("GET / \(version)", fields: []).isVersion11 == isVersion11)
  }

  @Test(
    "A method keeps its name, and only exact capitals are a known method",
    arguments: [
      ("GET", Method.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("PATCH", .patch), ("DELETE", .delete),
      ("OPTIONS", .options), ("get", .other("get")), ("Get", .other("Get")), ("GETT", .other("GETT")),
      ("GE", .other("GE")), ("TRACE", .other("TRACE")), ("M-SEARCH", .other("M-SEARCH")),
      ("!#$%&'*+-.^_`|~09az", .other("!#$%&'*+-.^_`|~09az")),
    ]
  )
  func methods(name: String, method: Method) throws {
    let head = try head("\(name) / HTTP/1.1", fields: [])
    #expect(head.method == method)
    #expect(head.method.name == name)
  }

  @Test(
    "Any other request line is refused, and the detail says why",
    arguments: [
      Refusal.line("GET", saying: "method"),
      .line("GET ", saying: "target"),
      .line(" GET / HTTP/1.1", saying: "begins with the byte 32"),
      .line("GET / ", saying: "version"),
      .line("GET /", saying: "target"),
      .line("/ HTTP/1.1", saying: "method"),
      .line("GET\t/ HTTP/1.1", saying: "method"),
      .line("GET  / HTTP/1.1", saying: "target"),
      .line("GET /  HTTP/1.1", saying: "version"),
      .line("GET /\tHTTP/1.1", saying: "target"),
      .line("GET / HTTP/1.1 ", saying: "version"),
      .line("GET / HTTP/1.1\t", saying: "version"),
      .line("GET /a b HTTP/1.1", saying: "version"),
      .line("GET /a\u{0}b HTTP/1.1", saying: "visible ASCII"),
      .line("GET /a\u{7F}b HTTP/1.1", saying: "visible ASCII"),
      .line("GET /a\u{1B}b HTTP/1.1", saying: "visible ASCII"),
      .line("GET /a\rb HTTP/1.1", saying: "visible ASCII"),
      .line("GET /é HTTP/1.1", saying: "Percent-encode"),
      .line("GET /a#b HTTP/1.1", saying: "target"),
      .line("G(T / HTTP/1.1", saying: "method"),
      .line("GÉT / HTTP/1.1", saying: "method"),
      .line("G\u{0}T / HTTP/1.1", saying: "method"),
      .line("(ET / HTTP/1.1", saying: "begins with the byte 40"),
      .line("{\"a\":1} / HTTP/1.1", saying: "begins with the byte 123"),
    ]
  )
  func refusals(_ expected: Refusal) throws {
    try expectRefusal(expected)
  }

  @Test(
    "A version other than HTTP/1.x gets 505, and text that is not a version gets 400",
    arguments: [
      Refusal.line("GET / HTTP/0.9", .versionNotSupported, saying: "HTTP/1.1"),
      .line("GET / HTTP/2.0", .versionNotSupported, saying: "HTTP/1.1"),
      .line("GET / HTTP/3.0", .versionNotSupported, saying: "HTTP/1.1"),
      .line("PRI * HTTP/2.0", .versionNotSupported, saying: "HTTP/1.1"),
      .line("GET / HTTP/2", saying: "version"),
      .line("GET / HTTP/1", saying: "version"),
      .line("GET / HTTP/1.", saying: "version"),
      .line("GET / HTTP/1.10", saying: "version"),
      .line("GET / HTTP/01.1", saying: "version"),
      .line("GET / HTTP/1.x", saying: "version"),
      .line("GET / HTTP/1,1", saying: "version"),
      .line("GET / HTTP/+1.1", saying: "version"),
      .line("GET / http/1.1", saying: "version"),
      .line("GET / Http/1.1", saying: "version"),
      .line("GET / HTTPS/1.1", saying: "version"),
      .line("GET / XTTP/1.1", saying: "version"),
      .line("GET / HTTP1.1", saying: "version"),
      .line("GET / HTTP/\u{661}.1", saying: "version"),
    ]
  )
  func badVersions(_ expected: Refusal) throws {
    try expectRefusal(expected)
  }

  @Test(
    "A target is refused if it is neither a path, an http URL, nor * for OPTIONS",
    arguments: [
      Refusal.line("GET * HTTP/1.1", saying: "OPTIONS only"),
      .line("HEAD * HTTP/1.1", saying: "OPTIONS only"),
      .line("OPTIONS *a HTTP/1.1", saying: "neither"),
      .line("OPTIONS ** HTTP/1.1", saying: "neither"),
      .line("GET a HTTP/1.1", saying: "neither"),
      .line("GET ?a HTTP/1.1", saying: "neither"),
      .line("GET h:80 HTTP/1.1", saying: "neither"),
      .line("GET ftp://h/ HTTP/1.1", saying: "neither"),
      .line("GET http:/h/ HTTP/1.1", saying: "neither"),
      .line("GET http:// HTTP/1.1", saying: "neither"),
      .line("GET https:// HTTP/1.1", saying: "neither"),
      .line("GET http:///a HTTP/1.1", saying: "no host"),
      .line("GET http://?a HTTP/1.1", saying: "no host"),
      .line("GET http://:80/a HTTP/1.1", saying: "no host"),
      .line("GET http://u:p@h/a HTTP/1.1", saying: "no valid host and port"),
      .line("GET http://h:x/a HTTP/1.1", saying: "no valid host and port"),
      .line("GET http://[::1/a HTTP/1.1", saying: "no valid host and port"),
      .line("GET http://h\\a HTTP/1.1", saying: "no valid host and port"),
    ]
  )
  func badTargets(_ expected: Refusal) throws {
    try expectRefusal(expected)
  }

  @Test(
    "Bytes of another protocol are refused at the first byte, before a line ends",
    arguments: [
      Refusal("TLS", [0x16, 0x03, 0x01], saying: "TLS"),
      Refusal("NUL", [0x00], saying: "begins with the byte 0"),
      Refusal("a line feed", [0x0A], saying: "begins with the byte 10"),
      Refusal("a high byte", [0xFF], saying: "begins with the byte 255"),
      Refusal("a lone carriage return", [0x0D, 0x47], saying: "bare carriage return"),
    ]
  )
  func firstByte(_ expected: Refusal) throws {
    try expectRefusal(expected)
  }
}
