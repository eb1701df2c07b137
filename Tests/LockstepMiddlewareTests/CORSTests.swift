import LockstepCollections
import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Pages of other origins get the access that the operator allows", .timeLimit(.minutes(10)))
struct CORSTests {
  private static let app = "https://app.example"
  /// One request for each kind of response.
  private static let requests: [(method: String, target: String, status: Int)] = [
    ("GET", "/healthz", 200), ("HEAD", "/healthz", 200), ("OPTIONS", "/healthz", 204), ("OPTIONS", "*", 204),
    ("GET", "/nowhere", 404), ("POST", "/healthz", 405), ("GET", "/%", 400), ("GET", "/problems/none", 404),
    ("GET", "/readyz", 503),
  ]

  @Test("By default no response has CORS fields")
  func off() async throws {
    try await StubbedServer.run { gateway in
      gateway.store.setBroken(true)
      for (method, target, status) in Self.requests {
        let response = try await gateway.ask(
          method,
          target,
          ["Origin: \(Self.app)", "Access-Control-Request-Method: GET"]
        )
        #expect(response.status == status)
        #expect(!response.fields.contains { $0.hasPrefix("Access-Control") }, "\(method) \(target)")
        #expect(response.values(of: "Vary").isEmpty)
      }
    }
  }

  @Test("An allowed origin can read every response, also errors; another origin can read none")
  func listed() async throws {
    try await StubbedServer.run({ $0.corsOrigins = ["https://other.example", Self.app] }) { gateway in
      gateway.store.setBroken(true)
      for (method, target, status) in Self.requests {
        let response = try await gateway.ask(method, target, ["Origin: \(Self.app)"])
        #expect(response.status == status)
        #expect(response.values(of: "Access-Control-Allow-Origin") == [Self.app], "\(method) \(target)")
        #expect(response.field("Access-Control-Expose-Headers")?.contains("ETag, Cursor") == true)
        #expect(response.values(of: "Vary") == ["Origin"])
        for origin in [["Origin: https://app.example.evil"], ["Origin: null"], []] {
          let denied = try await gateway.ask(method, target, origin)
          #expect(denied.status == status)
          #expect(!denied.fields.contains { $0.hasPrefix("Access-Control") }, "\(method) \(target) \(origin)")
          #expect(denied.values(of: "Vary") == ["Origin"])
        }
      }
    }
  }

  @Test("An allowed origin can read why a malformed request was refused")
  func refused() async throws {
    try await StubbedServer.run({ $0.corsOrigins = [Self.app] }) { gateway in
      let long = String(repeating: "a", count: 9000)
      for (line, fields, status) in [
        ("GET / HTTP/1.1", "Host: h\r\nHost: h\r\n", 400), ("GET / HTTP/2.0", "Host: h\r\n", 505),
        ("GET / HTTP/1.1", "Host: h\r\nExpect: tea\r\n", 417), ("GET /\(long) HTTP/1.1", "Host: h\r\n", 414),
        ("GET / HTTP/1.1", "Host: h\r\n" + String(repeating: "A: b\r\n", count: 101), 431),
      ] {
        for (origin, allowed) in [(Self.app, [Self.app]), ("https://evil.example", [])] {
          let response = try await gateway.exchange("\(line)\r\nOrigin: \(origin)\r\n\(fields)\r\n")
          #expect(response.status == status)
          #expect(response.values(of: "Access-Control-Allow-Origin") == allowed, "\(status) \(origin)")
        }
      }
    }
  }

  @Test("An allowed origin can read the refusal of a connection above the limit", arguments: ["GET", "HEAD"])
  func noRoom(method: String) async throws {
    try await StubbedServer.run {
      $0.corsOrigins = [Self.app]
      $0.limits.connections = 1
    } _: { gateway in
      let first = try gateway.connect()
      try await first.send(StubbedServer.request("GET", "/healthz"))
      #expect(try await first.response().status == 200)
      for (origin, allowed) in [(Self.app, [Self.app]), ("https://evil.example", [])] {
        let client = try gateway.connect()
        try await client.send(StubbedServer.request(method, "/healthz", ["Origin: \(origin)"]))
        let response = try await client.response(toHead: method == "HEAD")
        #expect(response.status == 503)
        #expect(response.field("Retry-After") == "1")
        #expect(response.values(of: "Access-Control-Allow-Origin") == allowed)
        #expect(response.values(of: "Vary") == ["Origin"])
        #expect(try await client.isClosed(), "nothing follows, and HEAD has no body")
      }
    }
  }

  @Test("A star allows every origin, and the response does not depend on the origin")
  func any() async throws {
    try await StubbedServer.run({ $0.corsOrigins = ["*"] }) { gateway in
      gateway.store.setBroken(true)
      for (method, target, status) in Self.requests {
        for origin in [["Origin: null"], ["Origin: \(Self.app)"], []] {
          let response = try await gateway.ask(method, target, origin)
          #expect(response.status == status)
          #expect(response.values(of: "Access-Control-Allow-Origin") == ["*"], "\(method) \(target) \(origin)")
          #expect(response.values(of: "Vary").isEmpty)
        }
      }
      let refused = try await gateway.exchange("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n")
      #expect(refused.values(of: "Access-Control-Allow-Origin") == ["*"])
    }
  }

  @Test("A preflight response has the methods, each field, and the time it is valid")
  func preflight() async throws {
    try await StubbedServer.run({ $0.corsOrigins = [Self.app] }) { gateway in
      let fields = ["Access-Control-Request-Method: GET", "Access-Control-Request-Headers: authorization"]
      let allowed = try await gateway.ask("OPTIONS", "/healthz", ["Origin: \(Self.app)"] + fields)
      #expect(allowed.status == 204)
      #expect(allowed.values(of: "Access-Control-Allow-Origin") == [Self.app])
      #expect(allowed.field("Access-Control-Allow-Methods") == "GET, HEAD, OPTIONS")
      let headers = allowed.field("Access-Control-Allow-Headers") ?? ""
      for name in ["Authorization", "Content-Type", "If-Match", "If-None-Match", "Prefer", "Idempotency-Key"] {
        #expect(headers.split(separator: ", ").contains(Substring(name)))
      }
      #expect(allowed.field("Access-Control-Max-Age") == "7200")
      let denied = try await gateway.ask("OPTIONS", "/healthz", ["Origin: https://evil.example"] + fields)
      #expect(denied.status == 204)
      #expect(!denied.fields.contains { $0.hasPrefix("Access-Control") })
      let plain = try await gateway.ask("OPTIONS", "/healthz", ["Origin: \(Self.app)"])
      #expect(plain.field("Access-Control-Allow-Methods") == nil)
    }
  }
}
