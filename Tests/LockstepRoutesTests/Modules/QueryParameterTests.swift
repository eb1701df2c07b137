import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Unknown query parameters", .timeLimit(.minutes(10)))
struct QueryParameterTests {
  /// Requests with an unknown parameter, each with its body.
  private static let requests: [(method: String, target: String, body: String?)] = [
    ("GET", "/v1/changes?colections=secret", nil), ("GET", "/v1/changes?since=now&colections=secret&wait=0", nil),
    ("GET", "/v1/journal?colections=secret", nil), ("GET", "/v1/favorites?colections=secret", nil),
    ("HEAD", "/v1/favorites?colections=secret", nil), ("GET", "/v1/favorites/a?colections=secret", nil),
    ("PUT", "/v1/favorites/a?colections=secret", "{}"), ("DELETE", "/v1/favorites/a?colections=secret", nil),
    ("GET", "/v1/defaults?colections=secret", nil), ("GET", "/v1/defaults/standard?colections=secret", nil),
    ("PATCH", "/v1/profile?colections=secret", "{}"), ("POST", "/v1/actions?colections=secret", "{}"),
    ("GET", "/v1/me?colections=secret", nil), ("GET", "/v1/sessions?colections=secret", nil),
    ("GET", "/v1/me/export?colections=secret", nil), ("POST", "/v1/sessions?colections=secret", "{}"),
    ("POST", "/v1/users?colections=secret", "{}"), ("GET", "/v1/reactors?colections=secret", nil),
    ("POST", "/v1/reactors/login?colections=secret", "{}"), ("GET", "/v1/notes?colections=secret", nil),
    ("GET", "/v1/admin/registered/standard?colections=secret", nil),
  ]

  @Test("They are refused by name, and their values are not repeated")
  func unknown() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }, modules: [.notes]) { users in
      let ada = try await users.signUp()
      for (method, target, body) in Self.requests {
        let token = target.contains("/admin/") ? ServerFixture.administrator : ada.token
        let response = try await users.ask(method, target, body: body.map { Array($0.utf8) }, token: token)
        #expect(response.status == 400, "\(method) \(target)")
        guard method != "HEAD" else { continue }
        #expect(response.problem == ProblemSummary("invalid-parameter"), "\(method) \(target)")
        #expect(response.text.contains("colections") && !response.text.contains("secret"), "\(response.text)")
      }
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
    }
  }

  @Test("A query that cannot be decoded is refused, and nothing is done")
  func malformed() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let requests = [
        ("DELETE", "/v1/me?a=%zz", #"{"password":"correct horse"}"#), ("PUT", "/v1/favorites/x?if-match=%zz", "{}"),
        ("PATCH", "/v1/profile?%=", "{}"), ("DELETE", "/v1/sessions/current?a=%zz", ""),
        ("POST", "/v1/actions?dryRun=%zz", #"{"actions":[]}"#), ("GET", "/v1/me?%zz", ""),
        ("GET", "/v1/favorites?limit=%zz", ""),
      ]
      for (method, target, body) in requests {
        let response = try await ada.ask(method, target, body)
        #expect(response.problem == ProblemSummary("invalid-parameter"), "\(method) \(target)")
      }
      #expect(try await ada.get("/v1/favorites").json["count"] == 0)
    }
  }

  @Test("The problem names all unknown parameters, decoded, and the parameters that the route accepts")
  func named() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let detail = try await ada.get("/v1/changes?a%20b=1&wait=0&c").json["detail"]?.stringValue ?? ""
      #expect(detail.contains("“a b”") && detail.contains("“c”") && detail.contains("since, collections, wait"))
      let none = try await ada.get("/v1/me?x=1").json["detail"]?.stringValue ?? ""
      #expect(none.contains("“x”") && none.contains("no query parameters"))
      let long = String(repeating: "n", count: 4000)
      #expect(try await ada.get("/v1/me?\(long)").body.count < 1000)
      #expect(try await ada.get("/v1/favorites?%zz").problem == ProblemSummary("invalid-parameter"))
    }
  }

  @Test("Names are compared by bytes")
  func equivalentNames() throws {
    let query = Array("%C3%A9=1&e%CC%81=2&K=3&%E2%84%AA=4".utf8)[...]
    let parameters = try QueryParameters(query)
    #expect(try parameters.all.count == 4)
    #expect(try parameters.text("K") == "3" && parameters.text("e\u{301}") == "2")
    #expect(throws: Problem.self) { try DeclaredQueries.check(query, against: ["\u{E9}", "K"]) }
  }

  @Test("Known parameters may be percent-encoded, and other paths accept any parameter")
  func known() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      #expect(try await ada.get("/v1/favorites?%6Cimit=1&pre%66ix=a&").status == 200)
      #expect(try await ada.post("/v1/reactors/photoDetail?photoId=a", "").status == 201)
      #expect(try await ada.get("/healthz?cache=1").status == 200)
      #expect(try await ada.get("/openapi.json?v=2").status == 200)
      let screen = try await ada.post("/v1/reactors/favoritesTop", "")
      let href = screen.json["href"]?.stringValue ?? ""
      #expect(try await ada.get("\(href)?wait=1").status == 200)
    }
  }

  @Test("The time grows with the number of names, not with its square", arguments: ["unknown", "all"])
  func linear(kind: String) {
    func time(_ count: Int) -> Double {
      let query = Array((0..<count).map { "n\($0)" }.joined(separator: "&").utf8)[...]
      return processorTime {
        if kind == "unknown" {
          #expect(throws: Problem.self) { try DeclaredQueries.check(query, against: ["since", "wait"]) }
        } else {
          #expect(throws: Never.self) { _ = try QueryParameters(query).all }
        }
      }
    }
    // Eight times as many names. A busy machine may disturb one measurement.
    #expect((0..<5).contains { _ in time(4_000) < time(500) * 24 })
  }

  @Test("A list of names has no empty entries", arguments: ["favorites,,profile", ",favorites", "favorites,", ","])
  func emptyEntry(list: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let response = try await ada.get("/v1/changes?collections=\(list)")
      #expect(response.problem == ProblemSummary("invalid-parameter"))
    }
  }
}
