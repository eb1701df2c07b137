import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Unknown members of bodies", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct UnknownMemberTests {
  private struct Case: Sendable {
    let method: String
    let path: String
    let body: String
    let pointers: [String]

    init(_ method: String, _ path: String, _ body: String, _ pointers: String...) {
      (self.method, self.path, self.body, self.pointers) = (method, path, body, pointers)
    }
  }

  private static let cases: [Case] = [
    Case("PUT", "/v1/favorites/a", #"{"titel":"A"}"#, "/titel"),
    Case("PUT", "/v1/favorites/a", #"{"Title":"A","a/b~c":null,"index":"x"}"#, "/index", "/Title", "/a~1b~0c"),
    Case("PATCH", "/v1/favorites/a", #"{"titel":"A"}"#, "/titel"),
    Case("PATCH", "/v1/favorites/a", #"{"titel":null}"#, "/titel"),
    Case("PUT", "/v1/favorites/a/position", #"{"index":0,"to":1}"#, "/to"),
    Case("PATCH", "/v1/profile", #"{"companyname":"A","position":" "}"#, "/position", "/companyname"),
    Case("POST", "/v1/actions", #"{"actions":[],"atomic":true}"#, "/actions", "/atomic"),
    Case("POST", "/v1/actions", #"{"actions":[{"module":"profile","type":"save","at":1}]}"#, "/actions/0/at"),
    Case(
      "PUT",
      "/v1/me/password",
      #"{"current":"\#(ServerFixture.password)","new":"longer than before","old":1}"#,
      "/old"
    ),
    Case("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)","really":true}"#, "/really"),
  ]

  /// Payloads of actions, each with a member that does not belong to its type.
  private static let actions: [(module: String, type: String, payload: String)] = [
    ("favorites", "add", #"{"id":"b","titel":1}"#), ("favorites", "update", #"{"id":"a","titel":1}"#),
    ("favorites", "remove", #"{"id":"a","titel":1}"#), ("favorites", "move", #"{"id":"a","index":0,"titel":1}"#),
    ("favorites", "toggle", #"{"id":"a","titel":1}"#), ("favorites", "clear", #"{"titel":1}"#),
    ("defaults", "set", #"{"key":"k","value":1,"titel":1}"#), ("defaults", "remove", #"{"key":"k","titel":1}"#),
    ("defaults", "merge", #"{"values":{},"titel":1}"#),
    ("defaults", "increment", #"{"key":"k","by":1,"titel":1}"#), ("defaults", "clear", #"{"titel":1}"#),
    ("profile", "save", #"{"titel":1}"#),
  ]

  @Test("A misspelled member is refused by name, wherever it is, and nothing changes")
  func refused() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let before = try await ada.get("/v1/changes?since=now").cursor
      for row in Self.cases {
        let response = try await ada.ask(row.method, row.path, row.body)
        #expect(response.status == 422, "\(row.path) \(row.body)")
        #expect(
          response.problem == ProblemSummary(slug: "validation-failed", pointers: row.pointers),
          "\(row.path) \(row.body)"
        )
      }
      for (module, type, payload) in Self.actions {
        let batch = ActionsRouteTests.batch([ActionsRouteTests.action(module, type, payload)])
        let response = try await ada.post("/v1/actions", batch)
        #expect(
          response.problem == ProblemSummary("validation-failed", "/actions/0/payload/titel"),
          "\(module) \(type)"
        )
      }
      #expect(try await ada.get("/v1/changes?since=now").cursor == before)
      for path in ["/v1/users", "/v1/sessions"] {
        let body = #"{"email":"bob@example.com","password":"\#(ServerFixture.password)","name":"Bob"}"#
        #expect(try await users.post(path, body).problem == ProblemSummary("validation-failed", "/name"))
      }
    }
  }

  @Test("The members of a favorite in a response may be sent back")
  func sentBack() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let item = try await ada.put("/v1/favorites/a", #"{"title":"A"}"#)
      let batch = ActionsRouteTests.batch([ActionsRouteTests.action("favorites", "add", item.text)])
      #expect(try await ada.post("/v1/actions", batch).status == 200)
      let shown = try await ada.get("/v1/favorites/a")
      for (method, type) in [
        ("PUT", "application/json"), ("PATCH", "application/json"), ("PATCH", "application/merge-patch+json"),
      ] {
        let body = shown.text.replacing(#""title":"A""#, with: #""title":"\#(method) \#(type)""#)
        let response = try await ada.ask(method, "/v1/favorites/a", body, ["Content-Type: \(type)"])
        #expect(response.status == 200, "\(response.text)")
        #expect(response.json["title"]?.stringValue == "\(method) \(type)")
        #expect(response.json["addedAt"] == shown.json["addedAt"])
      }
      // Such members are not part of the action.
      let asked = try await ada.get("/v1/journal").json["entries"]?.arrayValue?.last?["action"]?["payload"]
      #expect(asked == ["id": "a", "title": "PATCH application/merge-patch+json"])
    }
  }

  @Test("An id in the body that differs from the one in the path is refused", arguments: ["PUT", "PATCH"])
  func otherID(method: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "\u{e9}")
      let before = try await ada.get("/v1/changes?since=now").cursor
      for (path, id) in [("a", #""zzz""#), ("a", "7"), ("a", "null"), ("a", #""""#), ("%C3%A9", #""e\u0301""#)] {
        let response = try await ada.ask(method, "/v1/favorites/\(path)", #"{"id":\#(id),"titel":1,"title":2}"#)
        #expect(response.status == 422, "\(id)")
        #expect(Set(response.problem?.pointers ?? []) == ["/id", "/titel", "/title"], "\(id)")
        let alone = try await ada.ask(method, "/v1/favorites/\(path)", #"{"id":\#(id)}"#)
        #expect(alone.problem == ProblemSummary("validation-failed", "/id"), "\(id)")
      }
      #expect(try await ada.get("/v1/changes?since=now").cursor == before)
    }
  }
}
