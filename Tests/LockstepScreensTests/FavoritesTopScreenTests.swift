import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The screen with the list of favorites, over a socket", .timeLimit(.minutes(10)))
struct FavoritesTopScreenTests {
  @Test("The screen is opened, follows another device, gives a link to a photo, and is closed")
  func whole() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let tablet = try await users.logIn()
      try await tablet.addFavorites("a%2F%C3%BC%20b", "c")
      let screen = try await phone.open("favoritesTop")
      let opened = screen.opened
      #expect(opened.field("Location") == screen.href)
      #expect(opened.json["name"] == "favoritesTop")
      #expect(opened.json["id"]?.stringValue.map { "/v1/reactors/favoritesTop/\($0)" } == screen.href)
      #expect(opened.json["cursor"]?.stringValue == opened.tag)
      #expect(opened.json["state"] == ["favoriteIds": ["a/ü b", "c"]])

      let waiter = try await phone.waiting(screen.href, ["If-None-Match: \"\(opened.tag ?? "")\"", "Prefer: wait=30"])
      await eventually { users.waitingForScreens == 1 }
      _ = try await tablet.delete("/v1/favorites/c")
      let told = try await waiter.response()
      #expect(told.json["state"] == ["favoriteIds": ["a/ü b"]])
      #expect(told.field("Preference-Applied") == "wait=30")
      #expect(told.tag != opened.tag)

      let tapped = try await screen.act(#"{"type":"tapFavoritePhoto","payload":{"row":0}}"#)
      #expect(tapped.status == 200)
      let href = "/v1/reactors/photoDetail?photoId=a%2F%C3%BC%20b"
      #expect(
        tapped.json["state"]
          == [
            "favoriteIds": ["a/ü b"],
            "route": ["id": 1, "name": "photoDetail", "photoId": "a/ü b", "href": .string(href)],
          ]
      )
      #expect(tapped.json["cursor"]?.stringValue == tapped.tag)
      #expect(try await screen.act(#"{"type":"viewWillAppear"}"#).json["state"] == ["favoriteIds": ["a/ü b"]])

      #expect(try await screen.ask("DELETE", screen.href).status == 204)
      #expect(try await screen.read().problem == ProblemSummary("not-found"))
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  /// Invalid actions, and the expected problems.
  private static let bad: [(actions: String, expected: ProblemSummary)] = [
    ("", ProblemSummary("malformed-json")),
    ("7", ProblemSummary("validation-failed", "")),
    ("[]", ProblemSummary("validation-failed", "")),
    ("{}", ProblemSummary("validation-failed", "/type")),
    (#"{"type":"fly"}"#, ProblemSummary("validation-failed", "/type")),
    (#"{"type":"tapFavoritePhoto"}"#, ProblemSummary("validation-failed", "/payload/row")),
    (#"{"type":"tapFavoritePhoto","payload":[]}"#, ProblemSummary("validation-failed", "/payload")),
    (#"{"type":"tapFavoritePhoto","payload":{"row":-1}}"#, ProblemSummary("validation-failed", "/payload/row")),
    (#"{"type":"tapFavoritePhoto","payload":{"row":1}}"#, ProblemSummary("validation-failed", "/payload/row")),
    (#"{"type":"setActive","payload":{"value":"no"}}"#, ProblemSummary("validation-failed", "/payload/value")),
    (
      #"[{"type":"tapFavoritePhoto","payload":{"row":0}},{"type":"x"},{"type":"setActive"}]"#,
      ProblemSummary("validation-failed", "/1/type", "/2/payload/value")
    ),
    (
      #"{"type":"setActive","payload":{"value":1,"z":1},"y":1}"#,
      ProblemSummary("validation-failed", "/payload/value", "/payload/z", "/y")
    ),
    (#"{"type":"fly","y":1}"#, ProblemSummary("validation-failed", "/type", "/y")),
    (
      #"[{"type":"tapFavoritePhoto","payload":{"row":0}},{"type":"tapFavoritePhoto","payload":{"row":9}}]"#,
      ProblemSummary("validation-failed", "/1/payload/row")
    ),
  ]

  @Test("Invalid actions are refused with all their faults, and nothing changes", arguments: bad.indices)
  func refused(index: Int) async throws {
    let (actions, expected) = Self.bad[index]
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let screen = try await phone.open("favoritesTop")
      let response = try await screen.act(actions)
      #expect(response.problem == expected, "\(response.text)")
      let failed: JSON? = actions.hasPrefix("[{") ? 1 : nil
      #expect(response.json["failed"] == failed)
      #expect(try await screen.read().tag == screen.opened.tag)
    }
  }
}
