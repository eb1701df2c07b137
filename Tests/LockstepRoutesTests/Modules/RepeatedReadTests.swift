import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "Repeated reads over one connection always get the latest state",
  .timeLimit(.minutes(10))
)
struct RepeatedReadTests {
  /// A client that sends the same request again and again.
  private struct Reader {
    let client: RawClient
    let request: String

    init(_ device: Device, _ path: String, _ fields: [String] = []) throws {
      client = try device.users.connect()
      request = StubbedServer.request("GET", path, ["Authorization: Bearer \(device.token)"] + fields)
    }

    func ask() async throws -> RawResponse {
      try await client.send(request)
      return try await client.response()
    }
  }

  @Test("After each change, a repeated read of each resource equals a read that is sent for the first time")
  func changes() async throws {
    try await ServerFixture.run({ $0.administratorToken = "admin" }) { users in
      let ada = try await users.signUp()
      try await ConditionalRequestTests.fill(ada)
      let other = try await users.logIn()
      let readers = try ConditionalRequestTests.resources.map { ($0, try Reader(ada, $0)) }
      for (_, reader) in readers { for _ in 0..<3 { _ = try await reader.ask() } }
      let changes: [() async throws -> RawResponse] = [
        { try await other.put("/v1/favorites/a", #"{"title":"New"}"#) },
        { try await other.put("/v1/defaults/standard/theme", #""light""#) },
        { try await ada.patch("/v1/profile", #"{"companyName":"Aurora"}"#) },
        { try await other.delete("/v1/favorites/b") },
        { try await other.put("/v1/favorites/b", "{}") },
        { try await other.post("/v1/actions", #"{"actions":[{"module":"defaults","type":"clear","payload":{}}]}"#) },
        {
          try await users.ask(
            "PATCH",
            "/v1/admin/registered/standard",
            [],
            body: Array(#"{"theme":"app"}"#.utf8),
            token: "admin"
          )
        },
      ]
      for (number, change) in changes.enumerated() {
        #expect((200..<300).contains(try await change().status), "change \(number)")
        for (path, reader) in readers {
          // The server has never got a request with this field, so it reuses no response.
          let fresh = try await ada.get(path, ["X-Number: \(number)"])
          for _ in 0..<2 {
            let again = try await reader.ask()
            #expect(again.status == fresh.status && again.body == fresh.body, "\(path) after change \(number)")
            #expect(again.tag == fresh.tag && again.cursor == fresh.cursor, "\(path) after change \(number)")
          }
        }
      }
    }
  }

  @Test("A repeated conditional read gets 304 until the resource changes")
  func notModified() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let tag = try #require(try await ada.put("/v1/favorites/a", "{}").field("ETag"))
      let reader = try Reader(ada, "/v1/favorites/a", ["If-None-Match: \(tag)"])
      for _ in 0..<3 { #expect(try await reader.ask().status == 304) }
      _ = try await ada.put("/v1/favorites/b", "{}")
      let unchanged = try await reader.ask()
      #expect(unchanged.status == 304)
      #expect(unchanged.cursor == (try await ada.get("/v1/profile")).cursor)
      _ = try await ada.put("/v1/favorites/a", #"{"title":"New"}"#)
      #expect(try await reader.ask().status == 200)
    }
  }

  @Test("An ended session gets 401 on its next request")
  func ended() async throws {
    try await ServerFixture.run { users in
      let (ada, other) = (try await users.signUp(), try await users.logIn())
      let reader = try Reader(other, "/v1/profile")
      for _ in 0..<3 { #expect(try await reader.ask().status == 200) }
      #expect(try await ada.delete("/v1/sessions/\(other.session)").status == 204)
      #expect(try await reader.ask().status == 401)
    }
  }

  @Test("An erased user gets 401 on the next request")
  func erased() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let reader = try Reader(ada, "/v1/profile")
      for _ in 0..<3 { #expect(try await reader.ask().status == 200) }
      #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#).status == 204)
      #expect(try await reader.ask().status == 401)
    }
  }

  @Test("The last use of the session is recorded once a minute")
  func lastSeen() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let reader = try Reader(ada, "/v1/profile")
      for _ in 0..<3 { _ = try await reader.ask() }
      users.time.advance(by: 61)
      for _ in 0..<3 { _ = try await reader.ask() }
      let seen = try await ada.get("/v1/sessions").json["items"]?[0]?["lastSeenAt"]?.stringValue
      #expect(seen == "1994-11-06T08:50:38.000Z")
    }
  }

  @Test("Each repeated request is counted and logged, with its duration")
  func recorded() async throws {
    try await ServerFixture.run({ $0.accessLog = true }) { users in
      let ada = try await users.signUp()
      let reader = try Reader(ada, "/v1/profile")
      for _ in 0..<3 { #expect(try await reader.ask().status == 200) }
      let line = "method=GET path=/v1/profile status=200 bytes=2 microseconds=0"
      #expect(users.log.requests.filter { $0.contains(line) }.count == 3)
      let metrics = try await users.ask("GET", "/metrics").text
      let count = #"lockstep_http_requests_total{method="GET",route="/v1/profile",status="200"} 3"#
      #expect(metrics.contains(count))
    }
  }
}
