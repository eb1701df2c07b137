import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("If-Match with a cursor of a body", .timeLimit(.minutes(10)))
struct BodyCursorTests {
  typealias Cursor = @Sendable (Device) async throws -> RawResponse

  /// A body with a cursor, and what the condition is about.
  private struct Place: Sendable {
    let name: String
    let body: Cursor
    let member: @Sendable (JSON) -> JSON?
    let write: (method: String, path: String, body: String)
    /// A change of what `write` changes.
    let change: (method: String, path: String, body: String)

    init(
      _ name: String,
      _ write: (method: String, path: String, body: String),
      changedBy change: (method: String, path: String, body: String),
      at member: @escaping @Sendable (JSON) -> JSON? = { $0["cursor"] },
      _ body: @escaping Cursor
    ) {
      (self.name, self.body, self.member, self.write, self.change) = (name, body, member, write, change)
    }

    static func read(
      _ path: String,
      _ write: (method: String, path: String, body: String),
      changedBy change: (method: String, path: String, body: String)
    ) -> Place {
      Place(path, write, changedBy: change) { try await $0.get(path) }
    }
  }

  private static let element = (method: "PATCH", path: "/v1/favorites/a", body: #"{"title":"mine"}"#)
  private static let elementChange = (method: "PATCH", path: "/v1/favorites/a", body: #"{"title":"other"}"#)
  private static let suite = (method: "PATCH", path: "/v1/defaults/standard", body: #"{"mine":1}"#)
  private static let value = (method: "PUT", path: "/v1/defaults/standard/theme", body: #""mine""#)
  private static let valueChange = (method: "PUT", path: "/v1/defaults/standard/theme", body: #""other""#)

  private static let places: [Place] =
    [
      "/v1/favorites", "/v1/favorites?limit=1", "/v1/favorites?prefix=a", "/v1/favorites?after=a",
      "/v1/favorites?where=id:eq:a", "/v1/favorites?sort=-id", "/v1/changes", "/v1/changes?since=now", "/v1/journal",
    ]
    .map { .read($0, element, changedBy: elementChange) }
    + ["/v1/defaults/standard", "/v1/defaults/standard?prefix=t"].flatMap { path in
      [.read(path, suite, changedBy: valueChange), .read(path, value, changedBy: valueChange)]
    }
    + [
      Place(
        "an entry of the journal",
        element,
        changedBy: elementChange,
        at: { $0["entries"]?.arrayValue?.last?["cursor"] }
      ) {
        try await $0.get("/v1/journal")
      },
      Place("the response to actions", element, changedBy: elementChange) { ada in
        let action = ActionsRouteTests.action("favorites", "update", #"{"id":"a","title":"x"}"#)
        return try await ada.post("/v1/actions", ActionsRouteTests.batch([action]))
      },
      Place("a 412 of an element", element, changedBy: elementChange) {
        try await $0.ask("DELETE", "/v1/favorites/a", nil, [#"If-Match: "x""#])
      },
      Place("a 412 of a list", element, changedBy: elementChange) {
        try await $0.get("/v1/favorites", [#"If-Match: "x""#])
      },
      Place("a 412 of a map", suite, changedBy: valueChange) {
        try await $0.ask("PATCH", "/v1/defaults/standard", "{}", [#"If-Match: "x""#])
      },
      Place("a 412 of the whole state", element, changedBy: elementChange) { ada in
        let action = ActionsRouteTests.action("favorites", "update", #"{"id":"a","title":"x"}"#)
        return try await ada.post("/v1/actions", ActionsRouteTests.batch([action]), [#"If-Match: "x""#])
      },
      Place("the sessions", element, changedBy: elementChange, at: { $0["items"]?.arrayValue?.last?["cursor"] }) {
        ada in
        let now = try await ada.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
        _ = try await ada.get("/v1/changes?since=\(now)")
        return try await ada.get("/v1/sessions")
      },
    ]

  private static func expectConditions(_ places: [Place], _ ada: Device) async throws {
    for place in places {
      try await ConditionalRequestTests.fill(ada)
      func cursor() async throws -> String {
        let response = try await place.body(ada)
        return try #require(place.member(response.json)?.stringValue, "\(place.name): \(response.text)")
      }
      func write(_ write: (method: String, path: String, body: String), _ cursor: String? = nil) async throws
        -> RawResponse
      {
        let condition = cursor.map { [#"If-Match: "\#($0)""#] } ?? []
        return try await ada.ask(write.method, write.path, write.body, condition)
      }
      let unchanged = try await cursor()
      // A change elsewhere does not count.
      _ = try await ada.patch("/v1/profile", #"{"position":"\#(unchanged.suffix(20))"}"#)
      #expect(try await write(place.write, unchanged).status < 300, "\(place.name) \(unchanged)")
      let changed = try await cursor()
      #expect(try await write(place.change).status < 300)
      #expect(try await write(place.write, changed).problem == ProblemSummary("precondition-failed"), "\(place.name)")
    }
  }

  @Test("With a cursor of any body, the condition holds until the resource changes", .alsoWithDeclaredCollections)
  func places() async throws {
    try await ServerFixture.run { users in try await Self.expectConditions(Self.places, try await users.signUp()) }
  }

  @Test("The cursor of the list of suites holds until a suite changes, and not for registered defaults")
  func suites() async throws {
    try await ServerFixture.administered { users in
      let rows: [Place] = [Self.suite, Self.value].map { .read("/v1/defaults", $0, changedBy: Self.valueChange) }
      try await Self.expectConditions(rows, try await users.signUp())
      let ada = try await users.signUp("bob")
      try await users.register("standard", #"{"theme":"light"}"#)
      let cursor = try #require(try await ada.get("/v1/defaults").json["cursor"]?.stringValue)
      let stale = try await ada.patch("/v1/defaults/standard", "{}", [#"If-Match: "\#(cursor)""#])
      #expect(stale.status == 412, "the cursor does not say which registered defaults the client has seen")
    }
  }

  @Test("A cursor with the digest of a page holds for the whole state as long as the state does not change")
  func wholeState() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      let page = try #require(try await ada.get("/v1/favorites?limit=1").json["cursor"]?.stringValue)
      let action = ActionsRouteTests.action("favorites", "update", #"{"id":"a","title":"x"}"#)
      for status in [200, 412] {
        let response = try await ada.post("/v1/actions", ActionsRouteTests.batch([action]), [#"If-Match: "\#(page)""#])
        #expect(response.status == status)
      }
    }
  }
}
