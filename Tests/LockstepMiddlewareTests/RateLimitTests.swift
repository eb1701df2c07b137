import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Rate limits apply to every kind of response", .timeLimit(.minutes(10)))
struct RateLimitTests {
  private static let limit = RateLimit(requests: 10, seconds: 5, burst: 3)

  /// Sends the same request several times over one connection, and returns the responses.
  private func ask(_ users: ServerFixture, _ device: Device, times: Int) async throws -> [RawResponse] {
    let client = try users.connect()
    defer { client.close() }
    var responses: [RawResponse] = []
    for _ in 0..<times {
      try await client.send(StubbedServer.request("GET", "/v1/favorites", ["Authorization: Bearer \(device.token)"]))
      responses.append(try await client.response())
    }
    return responses
  }

  @Test("Without a limit, responses have no fields about it")
  func off() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      for response in try await ask(users, ada, times: 5) {
        #expect(response.status == 200)
        #expect(response.field("RateLimit") == nil && response.field("RateLimit-Policy") == nil)
      }
    }
  }

  @Test("Repeated requests of a token count too, and each response says how many are left")
  func token() async throws {
    try await ServerFixture.run {
      $0.tokenRate = Self.limit
    } _: { users in
      let ada = try await users.signUp("ada")
      let other = try await users.logIn("ada")
      for _ in 1...3 {
        let responses = try await ask(users, ada, times: 5)
        #expect(responses.map(\.status) == [200, 200, 200, 429, 429])
        #expect(
          responses.map { $0.field("RateLimit") } == [
            #""token";r=2;t=1"#, #""token";r=1;t=1"#, #""token";r=0;t=2"#, #""token";r=0;t=2"#, #""token";r=0;t=2"#,
          ]
        )
        for response in responses { #expect(response.values(of: "RateLimit-Policy") == [#""token";q=10;w=5;burst=3"#]) }
        #expect(responses.map { $0.field("Retry-After") } == [nil, nil, nil, "1", "1"])
        #expect(responses[4].problem == ProblemSummary("too-many-requests"))
        #expect(responses[4].json["violated-policies"] == ["token"])
        users.time.advance(by: 1.5)
      }
      #expect(try await other.get("/v1/favorites").status == 200, "another device has its own limit")
      let metrics = try PrometheusText(try await users.ask("GET", "/metrics").text)
      let samples = try #require(metrics.family("lockstep_http_rate_limited_total")).samples
      #expect(samples.map { "\($0.label("by") ?? "") \($0.value)" } == ["token 6.0", "address 0.0"])
    }
  }

  @Test("All connections of a token share a limit, which refills at its rate")
  func connections() async throws {
    try await ServerFixture.run {
      $0.tokenRate = Self.limit
    } _: { users in
      let ada = try await users.signUp("ada")
      for status in [200, 200, 200, 429] { #expect(try await ada.get("/v1/profile").status == status) }
      users.time.advance(by: 0.5)
      for status in [200, 429] { #expect(try await ada.get("/v1/changes?since=now").status == status) }
    }
  }

  @Test("Late responses and problems also say how many requests are left")
  func everyResponse() async throws {
    try await ServerFixture.run {
      $0.tokenRate = RateLimit(requests: 100, seconds: 1)
    } _: { users in
      let ada = try await users.signUp("ada")
      let cursor = try #require(try await ada.get("/v1/favorites").field("Cursor"))
      let responses = [
        try await ada.put("/v1/favorites/a", "{}"), try await ada.get("/v1/favorites/none"),
        try await ada.put("/v1/favorites/a", "["), try await ada.get("/v1/me"),
        try await ada.get("/v1/changes?since=\(cursor)&wait=30"), try await ada.get("/v1/changes?since=now"),
        try await ada.get("/v1/journal"), try await ada.get("/v1/favorites?at=\(cursor)"),
        try await ada.get("/v1/favorites", ["If-None-Match: \"\(cursor)\"", "Prefer: wait=30"]),
        try await ada.post("/v1/actions", "[]"),
      ]
      for response in responses {
        let told = response.values(of: "RateLimit")
        #expect(told.count == 1 && told.first?.hasPrefix(#""token";r="#) == true, "\(response.status) \(response.text)")
      }
    }
  }

  @Test("The limit by address counts all requests except those for health checks and metrics")
  func address() async throws {
    try await StubbedServer.run {
      $0.addressRate = Self.limit
    } _: { gateway in
      let statuses = [("/", 200), ("/nowhere", 404), ("/problems", 200), ("/", 429), ("/nowhere", 429)]
      for (path, status) in statuses { #expect(try await gateway.get(path).status == status, "\(path)") }
      for path in ["/healthz", "/readyz", "/metrics"] {
        for _ in 1...5 {
          let response = try await gateway.get(path)
          #expect(response.status == 200 && response.field("RateLimit") == nil)
        }
      }
      let refused = try await gateway.get("/")
      #expect(refused.field("RateLimit") == #""address";r=0;t=2"#)
      #expect(refused.field("RateLimit-Policy") == #""address";q=10;w=5;burst=3"#)
      #expect(refused.field("Retry-After") == "1")
      #expect(refused.object["violated-policies"] == ["address"])
      gateway.time.advance(by: 1)
      for status in [200, 200, 429] { #expect(try await gateway.get("/").status == status) }
    }
  }

  @Test("Behind a trusted proxy each client has its own limit, and clients in one /64 share a limit")
  func clients() async throws {
    try await StubbedServer.run {
      $0.addressRate = Self.limit
      $0.trustedProxies = ["127.0.0.1"].compactMap { IPNetwork($0) }
    } _: { gateway in
      let asked: [(client: String, statuses: [Int])] = [
        ("192.0.2.1", [200, 200, 200, 429]), ("192.0.2.2", [200]), ("2001:db8::1", [200, 200]),
        ("2001:db8::2", [200, 429]), ("2001:db8:0:1::1", [200]),
      ]
      for (client, statuses) in asked {
        for status in statuses {
          let response = try await gateway.get("/", ["X-Forwarded-For: \(client)"])
          #expect(response.status == status, "\(client)")
        }
      }
    }
  }

  @Test(
    "Both limits apply to repeated requests, and a request that one limit refuses does not count for the other"
  )
  func both() async throws {
    try await ServerFixture.run {
      $0.tokenRate = RateLimit(requests: 10, seconds: 10, burst: 4)
      $0.addressRate = RateLimit(requests: 10, seconds: 10, burst: 100)
    } _: { users in
      let ada = try await users.signUp("ada")
      let responses = try await ask(users, ada, times: 6)
      #expect(responses.map(\.status) == [200, 200, 200, 200, 429, 429])
      #expect(
        responses.map { $0.values(of: "RateLimit").sorted() }
          == (0..<6).map { number in
            let (address, token) = (98 - number, max(0, 3 - number))
            return [#""address";r=\#(address);t=\#(2 + number)"#, #""token";r=\#(token);t=\#(min(4, 1 + number))"#]
          }
      )
    }
  }
}
