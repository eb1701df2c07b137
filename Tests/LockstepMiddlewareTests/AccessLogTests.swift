import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
import LockstepHTTPServer
@testable import LockstepLogging
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The access log has one line for each request, and no secrets", .timeLimit(.minutes(10)))
struct AccessLogTests {
  @Test("By default there is no access log")
  func off() async throws {
    try await StubbedServer.run { gateway in
      _ = try await gateway.get("/healthz")
      #expect(gateway.log.requests.isEmpty)
    }
  }

  @Test("It has the level info, so a higher level silences it")
  func level() async throws {
    try await StubbedServer.run({
      $0.accessLog = true
      $0.logLevel = .warning
    }) { gateway in
      _ = try await gateway.get("/healthz")
      #expect(gateway.log.lines.isEmpty)
    }
  }

  @Test("A line of text has the client, the request and the result")
  func text() async throws {
    try await StubbedServer.run({ $0.accessLog = true }) { gateway in
      let client = try gateway.connect()
      try await client.send(StubbedServer.request("GET", "/healthz?a=b"))
      _ = try await client.response()
      try await client.send(StubbedServer.request("HEAD", "/healthz") + StubbedServer.request("BREW", "/healthz"))
      _ = try await client.response(toHead: true)
      let refusal = try await client.response()
      let start = "1994-11-06T08:49:37.000Z INFO request client=127.0.0.1"
      // The start time in base 36, the event loop and a number.
      let name = "requestId=\(String(784_111_777_000, radix: 36))-0"
      #expect(
        gateway.log.requests == [
          "\(start) method=GET path=/healthz status=200 bytes=15 microseconds=0 \(name)-1\n",
          "\(start) method=HEAD path=/healthz status=200 bytes=0 microseconds=0 \(name)-2\n",
          "\(start) method=- path=/healthz status=501 bytes=\(refusal.body.count) microseconds=0 \(name)-3\n",
        ]
      )
    }
  }

  @Test("A screen's id is not logged, because the id gives access to the screen")
  func screens() async throws {
    try await ServerFixture.run({ $0.accessLog = true }) { users in
      let screen = try await users.open("/v1/reactors/login", token: nil)
      _ = try await screen.act(#"{"type":"setUsername","payload":{"value":"a"}}"#)
      _ = try await screen.ask("DELETE", "/v1/reactors/login/wrong")
      let id = try #require(screen.href.split(separator: "/").last)
      #expect(!users.log.text.contains(id))
      #expect(users.log.text.contains("method=POST path=/v1/reactors/{name}/{id}/actions status=200"))
      #expect(users.log.text.contains("method=DELETE path=/v1/reactors/{name}/{id} status=404"))
    }
  }

  @Test("A line has the pattern of the route, and no id, key or token that a client has put into the path")
  func patterns() async throws {
    try await ServerFixture.run({
      $0.accessLog = true
      $0.logLevel = .debug
      $0.administratorToken = ServerFixture.administrator
    }) { users in
      let ada = try await users.signUp()
      let declaration = #"{"name":"playlist","kind":"list","schema":{}}"#
      _ = try await users.admin.put("/v1/admin/collections/playlist", declaration)
      _ = try await ada.put("/v1/favorites/hunter2", "{}")
      _ = try await ada.get("/v1/favorites/hunter2")
      _ = try await ada.post("/v1/favorites/hunter2", "{}")
      _ = try await ada.get("/v1/favourites/hunter2")
      _ = try await ada.get("/v1/favorites/hunter2/hunter2/hunter2")
      _ = try await ada.put("/v1/defaults/hunter2/hunter2", "1")
      _ = try await ada.put("/v1/playlist/hunter2", "{}")
      _ = try await ada.get("/v1/playlist/hunter2/hunter2")
      _ = try await ada.get("/\(ada.token)")
      _ = try await ada.get("/v1/me/\(ada.token)")
      _ = try await users.admin.get(ada.administered("/favorites/hunter2"))
      let lines = users.log.requests.compactMap { line in
        line.split(separator: " ").first { $0.hasPrefix("path=") }.map { String($0.dropFirst(5)) }
      }
      #expect(
        Set(lines).isSuperset(of: [
          "/v1/favorites/{id}", "/v1/favorites/*", "/v1/*", "/v1/defaults/{suite}/{key}", "/v1/playlist/{id}", "/*",
          "/v1/me/*", "/v1/admin/users/{user}/favorites/{id}",
        ]),
        "\(lines)"
      )
      #expect(!users.log.text.contains("hunter2") && !users.log.text.contains(ada.token))
    }
  }

  @Test("A line of JSON has the same content")
  func json() async throws {
    try await StubbedServer.run({
      $0.accessLog = true
      $0.logFormat = .json
    }) { gateway in
      _ = try await gateway.get("/nowhere?a=b")
      let line = try #require(gateway.log.requests.first)
      guard case .object(let object) = try JSON(parsing: Array(line.utf8)) else {
        Issue.record("no object: \(line)")
        return
      }
      #expect(
        object.map(\.name) == [
          "time", "level", "message", "client", "method", "path", "status", "bytes", "microseconds", "requestId",
        ]
      )
      #expect(object["time"] == "1994-11-06T08:49:37.000Z")
      #expect(object["path"] == "/*")
      #expect(object["status"] == 404)
    }
  }

  /// Bytes that are not a valid request, and the status and reason in the log.
  private static let refused: [(sent: String, status: Int, reason: String)] = [
    ("GET /\(secret) HTTP/1.1\r\nHost: h\r\nHost: \(secret)\r\n\r\n", 400, "malformed-request"),
    ("\(secret) /\u{1} HTTP/1.1\r\n\(secret): \u{1}\r\n\r\n", 400, "malformed-request"),
    ("GET /?\(secret)\(String(repeating: "a", count: 9000)) HTTP/1.1\r\n", 414, "uri-too-long"),
    ("GET / HTTP/1.1\r\nHost: h\r\nExpect: \(secret)\r\n\r\n", 417, "expectation-failed"),
    ("GET / HTTP/1.1\r\nX: \(String(repeating: secret, count: 3000))\r\n", 431, "headers-too-large"),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \(secret), chunked\r\n\r\n", 501, "not-implemented"),
    ("GET /\(secret) HTTP/2.0\r\nHost: h\r\n\r\n", 505, "version-not-supported"),
  ]

  @Test("A request that the parser refuses is logged and counted, without its content", arguments: refused)
  func engineRefusals(sent: String, status: Int, reason: String) async throws {
    try await StubbedServer.run({ $0.accessLog = true }) { gateway in
      #expect(try await gateway.exchange(sent).status == status)
      let start = "1994-11-06T08:49:37.000Z INFO refused client=127.0.0.1"
      let lines = gateway.log.lines.filter { $0.contains(" refused ") }
      #expect(lines == ["\(start) status=\(status) reason=\(reason)\n"])
      #expect(!gateway.log.text.contains(Self.secret))
      let metrics = try await gateway.get("/metrics").text
      let sample = #"lockstep_http_requests_total{method="",route="unmatched",status="\#(status)"} 1"#
      #expect(metrics.contains(sample + "\n"))
    }
  }

  @Test("A timed-out head and a connection above the limit are logged and counted too")
  func refusedForTimeAndRoom() async throws {
    try await StubbedServer.run {
      $0.accessLog = true
      $0.limits.connections = 1
    } _: { gateway in
      let first = try gateway.connect()
      try await first.send("GET /\(Self.secret)")
      try await first.waitUntilTaken()
      #expect(try await gateway.get("/\(Self.secret)").status == 503)
      gateway.time.advance(by: 10.2)
      gateway.server.lookAtClock()
      #expect(try await first.response().status == 408)
      let lines = gateway.log.lines.filter { $0.contains(" refused ") }.map { $0.split(separator: " ").suffix(2) }
      #expect(lines == [["status=503", "reason=overloaded\n"], ["status=408", "reason=request-timeout\n"]])
      #expect(!gateway.log.text.contains(Self.secret))
    }
  }

  /// Requests with a secret in all places that a client may put one.
  private static let secret = "hunter2-Zm9vYmFy"
  private static let requests = [
    "GET /healthz?token=\(secret) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(secret)\r\n\r\n",
    "GET /nowhere?\(secret) HTTP/1.1\r\nHost: h\r\nCookie: \(secret)\r\nX-\(secret): \(secret)\r\n\r\n",
    "GET /readyz?\(secret) HTTP/1.1\r\nHost: h\r\nUser-Agent: \(secret)\r\nReferer: http://h/\(secret)\r\n\r\n",
    "POST /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: \(secret.utf8.count)\r\n\r\n\(secret)",
    "GET http://user:\(secret)@h/healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    "OPTIONS /healthz?\(secret) HTTP/1.1\r\nHost: h\r\nOrigin: http://\(secret)\r\n\r\n",
    "GET /healthz?\(secret) HTTP/1.1\r\nHost: h\r\nHost: \(secret)\r\n\r\n",
    "GET /% HTTP/1.1\r\nHost: h\r\nAuthorization: \(secret)\r\n\r\n",
    "\(secret)\r\n\r\n",
  ]

  @Test("A token in a field, a query or a body is not in any line, in any format", arguments: LogFormat.allCases)
  func noSecrets(format: LogFormat) async throws {
    try await StubbedServer.run({
      $0.accessLog = true
      $0.logLevel = .debug
      $0.logFormat = format
    }) { gateway in
      gateway.store.setBroken(true)
      for request in Self.requests {
        let client = try gateway.connect()
        try await client.send(request)
        _ = try await client.response()
      }
      #expect(gateway.log.requests.count >= 6)
      #expect(!gateway.log.text.contains(Self.secret))
    }
  }

  /// Paths that try to be several lines or several fields.
  private static let hostile = [
    "/%0D%0A2026-01-01T00:00:00.000Z%20ERROR%20forged", "/a\"%22b", "/x=1%20status=200", "/a\\nb", "/\u{2028}line",
    "/{\"level\":\"error\"}", "/%00%1B[31m", "/a=b",
  ]

  @Test("No path can add a line or a field to the log", arguments: hostile)
  func injection(path: String) async throws {
    for format in LogFormat.allCases {
      try await StubbedServer.run({
        $0.accessLog = true
        $0.logFormat = format
      }) { gateway in
        let response = try await gateway.get(path)
        try #require(response.status == 404 || response.status == 400)
        // The parser refuses bytes that a target must not have.
        guard let line = gateway.log.requests.first else { return #expect(response.status == 400) }
        #expect(gateway.log.requests.count == 1)
        #expect(line.utf8.filter { $0 < 0x20 } == [UInt8(ascii: "\n")])
        #expect(line.hasSuffix("\n"))
        if format == .json {
          guard case .object(let object) = try JSON(parsing: Array(line.utf8)) else {
            Issue.record("no object: \(line)")
            return
          }
          #expect(object["path"] == "/*")
          #expect(object["status"] == .integer(Int64(response.status)))
        } else {
          let fields = line.split(separator: " ").filter { $0.hasPrefix("status=") }
          #expect(fields.map(String.init) == ["status=\(response.status)"])
        }
      }
    }
  }
}
