@testable import LockstepHTTP
import Testing

@Suite("HTTP/1.1 needs exactly one Host field with a host and an optional port", .timeLimit(.minutes(10)))
struct HostTests {
  @Test(
    "A valid host is accepted",
    arguments: [
      "", "h", "h:", "h:80", "example.com", "EXAMPLE.com:8080", "127.0.0.1:8080", "[::1]", "[::1]:8080",
      "[::ffff:1.2.3.4]", "a_b-c.d~e", "caf%C3%A9.example", "a!$&'()*+,;=b", "localhost:0065536",
    ]
  )
  func good(host: String) throws {
    #expect(try head("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")[.host] == host)
  }

  @Test(
    "A Host field without a valid host and port is refused",
    arguments: [
      "a b", "a/b", "a@b", "http://a", "a?b", "a#b", "a\\b", "a\"b", "a<b", "a|b", "é", "h:80:80", "h:a", "h:-1",
      "h:+1",
      "h: 80", "a:b:c", "::1", "[::1", "::1]", "[]", "[]:80", "[::1]80", "[::1]:x", "[::1]x:80", "x[::1]", "[[::1]]",
      "[a b]", "[g::1]", "[host]", "a%", "a%4", "a%zz", "a%4g:80",
    ]
  )
  func bad(host: String) throws {
    try expectRefusal(Refusal(host, "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n", saying: "Host field is not"))
    try expectRefusal(Refusal(host, "GET / HTTP/1.0\r\nHost: \(host)\r\n\r\n", saying: "Host field is not"))
  }

  @Test("HTTP/1.1 without Host is refused, and HTTP/1.0 is accepted")
  func missing() throws {
    try expectRefusal(Refusal("1.1", "GET / HTTP/1.1\r\nHosts: h\r\n\r\n", saying: "no Host"))
    try expectRefusal(Refusal("absolute", "GET http://h/ HTTP/1.1\r\n\r\n", saying: "no Host"))
    #expect(refusal(of: "GET / HTTP/1.0\r\n\r\n") == nil)
  }

  @Test(
    "Several Host fields are refused, even if they are equal",
    arguments: ["HTTP/1.1\r\nHost: h\r\nHost: h", "HTTP/1.1\r\nHost: a\r\nhost: b", "HTTP/1.0\r\nHost:\r\nHOST:"]
  )
  func twice(rest: String) throws {
    try expectRefusal(Refusal(rest, "GET / \(rest)\r\n\r\n", saying: "more than one Host"))
  }
}
