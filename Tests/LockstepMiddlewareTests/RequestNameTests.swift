import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Requests have an id that is in the log", .timeLimit(.minutes(10)))
struct RequestNameTests {
  @Test(
    "A client's request id is in every response",
    arguments: ["a", "0190b5e2-5f6c-7a3e-8f00-2a4f5c6d7e8f", "!~\"=<>;,", String(repeating: "x", count: 128)]
  )
  func given(name: String) async throws {
    try await StubbedServer.run { gateway in
      for (method, path) in [
        ("GET", "/"), ("HEAD", "/healthz"), ("GET", "/nowhere"), ("OPTIONS", "/"), ("GET", "/readyz"),
      ] {
        let response = try await gateway.ask(method, path, ["X-Request-Id: \(name)"])
        #expect(response.values(of: "X-Request-Id") == [name], "\(method) \(path)")
      }
    }
  }

  @Test(
    "An invalid request id is ignored, and a response has an id only if the client sent one",
    arguments: ["", "two words", "tab\there", "ümlaut", String(repeating: "x", count: 129)]
  )
  func notGiven(name: String) async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.get("/", ["X-Request-Id: \(name)"])
      #expect(response.status == 200)
      #expect(response.field("X-Request-Id") == nil)
      #expect(try await gateway.get("/").field("X-Request-Id") == nil)
    }
  }

  @Test("With the access log, each request has an id, the client's or a new one, in its line and its response")
  func logged() async throws {
    try await StubbedServer.run {
      $0.accessLog = true
    } _: { gateway in
      let first = try await gateway.get("/", ["X-Request-Id: mine"])
      let second = try await gateway.get("/", ["X-Request-Id: not mine"])
      let third = try await gateway.get("/nowhere")
      let names = [first, second, third].compactMap { $0.field("X-Request-Id") }
      #expect(names.count == 3 && names[0] == "mine" && Set(names).count == 3)
      #expect(names[1].hasSuffix("-0-1") && names[2].hasSuffix("-0-2"))
      for (line, name) in zip(gateway.log.requests, names) { #expect(line.hasSuffix(" requestId=\(name)\n")) }
    }
  }

  @Test(
    "A repeated request has its own id each time",
    arguments: [true, false]
  )
  func again(isGiven: Bool) async throws {
    try await ServerFixture.run {
      $0.accessLog = true
    } _: { users in
      let ada = try await users.signUp("ada")
      let client = try users.connect()
      defer { client.close() }
      let before = users.log.requests.count
      var names: [String] = []
      for _ in 1...5 {
        let fields = ["Authorization: Bearer \(ada.token)"] + (isGiven ? ["X-Request-Id: mine"] : [])
        try await client.send(StubbedServer.request("GET", "/v1/favorites", fields))
        let told = try await client.response().values(of: "X-Request-Id")
        #expect(told.count == 1)
        names += told
      }
      #expect(Set(names).count == (isGiven ? 1 : 5))
      let lines = users.log.requests.dropFirst(before)
      #expect(lines.count == 5)
      for (line, name) in zip(lines, names) { #expect(line.hasSuffix(" requestId=\(name)\n")) }
    }
  }

  @Test("The log line and the response of an internal error have the request's id", arguments: [nil, "mine"])
  func failed(name: String?) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada")
      try await ada.addFavorites("a")
      _ = try await users.rows("ALTER TABLE journal RENAME COLUMN action TO gone")
      let response = try await ada.get("/v1/journal", name.map { ["X-Request-Id: \($0)"] } ?? [])
      #expect(response.status == 500)
      let told = response.values(of: "X-Request-Id")
      #expect(told.count == 1 && (name == nil || told == ["mine"]))
      let line = try #require(users.log.lines.first { $0.contains("a request failed") })
      #expect(line.hasSuffix(" requestId=\(told.first ?? "")\n"))
    }
  }
}
