import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Cursors of problems", .timeLimit(.minutes(10)))
struct ProblemCursorTests {
  private static let requests: [(method: String, path: String, body: String?, fields: [String], status: Int)] = [
    ("GET", "/v1/favorites?limit=0", nil, [], 400), ("GET", "/v1/favorites?after=absent", nil, [], 400),
    ("GET", "/v1/favorites?at=x", nil, [], 400), ("GET", "/v1/favorites?at=other000.1.0", nil, [], 404),
    ("GET", "/v1/favorites", nil, ["If-None-Match: x"], 400), ("GET", "/v1/defaults/a%20b", nil, [], 400),
    ("GET", "/v1/favorites?limit=%zz", nil, [], 400), ("GET", "/v1/favorites/absent", nil, [], 404),
    ("PUT", "/v1/favorites/a", "{", [], 400), ("PUT", "/v1/favorites/a", "[]", [], 422),
    ("PUT", "/v1/favorites/a", "{}", ["Content-Type: text/plain"], 415),
    ("PUT", "/v1/favorites/a", "{}", ["If-Match: x"], 400), ("PUT", "/v1/favorites/a", "{}", [#"If-Match: "x""#], 412),
    ("PUT", "/v1/favorites/a", "{}", ["Idempotency-Key: "], 400), ("DELETE", "/v1/favorites/absent", nil, [], 404),
    ("PUT", "/v1/defaults/standard/k", "1e999", [], 422), ("PATCH", "/v1/profile", #"{"position":7}"#, [], 422),
    ("PUT", "/v1/defaults/standard/k", "1", ["Idempotency-Key: used"], 422),
    ("POST", "/v1/actions", "{}", [], 422), ("POST", "/v1/actions", #"{"actions":[{}]}"#, [], 422),
    ("GET", "/v1/changes?since=a/b", nil, [], 400), ("GET", "/v1/changes?collections=nothing", nil, [], 400),
    ("GET", "/v1/changes?collections=", nil, [], 400), ("GET", "/v1/changes?collections=favorites,", nil, [], 400),
    ("GET", "/v1/journal?limit=0", nil, [], 400), ("GET", "/v1/journal?since=a/b", nil, [], 400),
  ]

  @Test("A problem about a user's state has the present cursor, as every response about the state does")
  func cursors() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/standard/k", "7", ["Idempotency-Key: used"])
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      for (method, path, body, fields, status) in Self.requests {
        let response = try await ada.ask(method, path, body, fields)
        #expect(response.status == status, "\(method) \(path) \(response.text)")
        #expect(response.cursor == cursor, "\(method) \(path)")
      }
      #expect(try await users.ask("GET", "/v1/favorites?limit=0", token: "nonsense").cursor == nil)
    }
  }
}
