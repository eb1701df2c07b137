import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Screens of one's own", .timeLimit(.minutes(10)))
struct OwnScreenTests {
  @Test("An own screen is opened, acts, follows the user, and is in the catalogue, OpenAPI and the admin's list")
  func served() async throws {
    try await ServerFixture.run(
      { $0.administratorToken = "an administrator's token" },
      screens: [.notes]
    ) { users in
      let phone = try await users.signUp()
      let item = try await users.ask("GET", "/v1/reactors").json["items"]?.arrayValue?.last
      #expect(item?["name"] == "notes" && item?["start"] == true && item?["auth"] == true)
      #expect(item?["state"]?["properties"]?["error"]?["required"] == ["id", "message"])
      let openAPI = try await users.ask("GET", "/openapi.json").json
      #expect(openAPI["components"]?["schemas"]?["NotesScreen"]?["required"] == ["ids", "language"])

      let screen = try await phone.open("notes?prefix=a")
      #expect(screen.opened.json["state"] == ["ids": [], "language": "en"])
      _ = try await screen.act(#"{"type":"add","payload":{"id":"a1"}}"#)
      try await screen.shows(["ids": ["a1"], "language": "en"])
      try await phone.addFavorites("a2", "b1")
      try await screen.shows("another device's favorite") { $0["ids"] == ["a1", "a2"] }

      let list = try await users.ask("GET", "/v1/admin/screens", token: "an administrator's token").json
      #expect(list["items"]?[0]?["name"] == "notes")
      #expect(try await users.post("/v1/reactors/notes", "").problem == ProblemSummary("unauthorized"))
      let wrong = try await phone.post("/v1/reactors/notes", #"{"arguments":{"other":1}}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/arguments/other"))
    }
  }

  @Test("A refused action of a module reaches the screen, and a reported error the metrics, the log and the list")
  func fails() async throws {
    try await ServerFixture.run(
      {
        $0.administratorToken = "an administrator's token"
        $0.favoritesQuota.elements = 1
      },
      screens: [.notes]
    ) { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let screen = try await phone.open("notes")
      let message: JSON = "A user may have 1 elements in favorites, not 2."
      for id in 1...2 {
        _ = try await screen.act(#"{"type":"add","payload":{"id":"b"}}"#)
        try await screen.shows("the error") { $0["error"] == ["id": JSON(id), "message": message] }
      }
      let token = "an administrator's token"
      let item = try await users.ask("GET", "/v1/admin/screens", token: token).json["items"]?[0]
      #expect(item?["failures"] == 2 && item?["lastFailure"]?["origin"] == "notes")
      #expect(users.log.text.contains("screen=notes origin=notes"))
      let metrics = try await users.ask("GET", "/metrics").text
      #expect(metrics.contains(#"lockstep_screen_failures_total{screen="notes"} 2"#))
    }
  }

  @Test("A screen shows a declared collection that it follows, also one that is declared later, until it is deleted")
  func declared() async throws {
    let administrator = "an administrator's token"
    try await ServerFixture.run({ $0.administratorToken = administrator }, screens: [.songs]) { users in
      let path = "/v1/admin/collections/playlist"
      let phone = try await users.signUp()
      let screen = try await phone.open("songs")
      #expect(screen.opened.json["state"] == ["ids": [], "language": "en"])
      _ = try await screen.act(#"{"type":"add","payload":{"id":"a"}}"#)
      try await screen.shows("the error") { $0["error"]?["message"] == "There is no action add of playlist." }

      let declaration = Array(#"{"kind":"list"}"#.utf8)
      for name in ["songs", "login"] {
        let response = try await users.ask(
          "PUT",
          "/v1/admin/collections/\(name)",
          body: declaration,
          token: administrator
        )
        #expect(response.problem == ProblemSummary("conflict"))
      }
      #expect(try await users.ask("PUT", path, body: declaration, token: administrator).status == 201)
      _ = try await screen.act(#"{"type":"add","payload":{"id":"b"}}"#)
      try await screen.shows("the screen's element") { $0["ids"] == ["b"] }
      #expect(try await phone.put("/v1/playlist/c", "{}").status == 201)
      try await screen.shows("another device's element") { $0["ids"] == ["b", "c"] }
      #expect(try await users.ask("DELETE", "\(path)?erase=true", token: administrator).status == 204)
      try await screen.shows("nothing") { $0["ids"] == [] }
    }
  }

  @Test("A screen's user in memory has declared collections")
  func declaredInMemory() async throws {
    let ada = InMemoryUser()
    try ada.declare(["name": "playlist", "kind": "list"])
    try ada.change("playlist", "add", ["id": "a"])
    let user = ada.screenUser
    try await user.perform("playlist", "add", ["id": "b"])
    #expect(user.state.list("playlist").items.map(\.id.text) == ["a", "b"])
  }

  @Test("The texts of a screen are in the user default language, else in the first language of Accept-Language")
  func languages() async throws {
    try await ServerFixture.run(screens: [.notes]) { users in
      let phone = try await users.signUp()
      func language(_ accepted: String) async throws -> JSON? {
        let response = try await phone.post("/v1/reactors/notes", "", ["Accept-Language: \(accepted)"])
        return response.json["state"]?["language"]
      }
      #expect(try await language("sv, de-AT;q=0.8, ja;q=0.9") == "ja")
      #expect(try await language("sv, ja;q=0") == "en")
      _ = try await phone.patch("/v1/defaults/standard", #"{"language":"de_CH.UTF-8"}"#)
      #expect(try await language("ja") == "de")
      _ = try await phone.patch("/v1/defaults/standard", #"{"language":"sv"}"#)
      #expect(try await language("ja") == "ja")
    }
  }

  private static let choices: [(preferred: [String], chosen: String)] = [
    ([], "en"), (["sv"], "en"), (["de"], "de"), (["de-AT"], "de-AT"), (["DE_at.UTF-8"], "de-AT"), (["de-CH"], "de"),
    (["den"], "en"), (["sv", "ja-JP"], "ja"), (["", "-", "ja"], "ja"), ([String(repeating: "ja-", count: 999)], "ja"),
  ]

  @Test("The first preferred language that is supported is chosen, with its region if possible", arguments: choices)
  func chosen(preferred: [String], language: String) {
    let screen = ScreenContext(clock: VirtualClock(), languages: preferred)
    #expect(screen.language(among: ["en", "de", "de-AT", "ja"]) == language)
  }

  @Test("A user in memory performs the actions of modules in virtual time, fails on demand, and tells what was done")
  func inMemory() async throws {
    let clock = VirtualClock()
    let ada = InMemoryUser(clock: clock, delay: .seconds(2))
    let test = TestReactor(Notes(user: ada.screenUser, screen: ScreenContext(clock: clock), prefix: nil), clock: clock)
    test.send(.add("a"))
    test.advance(by: .seconds(2))
    test.receive { $0.ids = ["a"] }
    try ada.change("favorites", "add", ["id": "b"])
    test.receive { $0.ids = ["a", "b"] }
    ada.fail(with: .sessionEnded)
    test.send(.add("c"))
    test.advance(by: .seconds(2))
    test.receive { $0.error = "The session has ended. Log in again." }
    #expect(ada.performed.map(\.payload) == [["id": "a"], ["id": "c"]])
    #expect(throws: StateChangeError.refused(.notFound("There is no action explode of favorites."))) {
      try ada.change("favorites", "explode")
    }
    test.finish()
  }
}

/// The favorites whose ids have a prefix.
private struct Notes: Reactor {
  struct State: Sendable, Equatable {
    var ids: [String] = []
    let language: String
    @Pulse var error: String?
  }

  enum Action: Sendable {
    case add(String)
  }

  enum Mutation: Sendable {
    case failed(String)
    case ids([String])
  }

  let user: ScreenUser
  let screen: ScreenContext
  let prefix: String?
  var list = "favorites"

  var initialState: State {
    State(ids: ids(user.state), language: screen.language(among: ["en", "de", "ja"]))
  }

  private func ids(_ user: UserSnapshot) -> [String] {
    user.list(list).items.map(\.id.text).filter { $0.hasPrefix(prefix ?? "") }
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    guard case .add(let id) = action else { return .none }
    return .run { emit in
      do throws(StateChangeError) {
        try await user.perform(list, "add", ["id": .string(id)])
      } catch {
        screen.report(error, in: "notes")
        try await emit(.failed(error.message))
      }
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .ids(let ids): state.ids = ids
    case .failed(let message): state.error = message
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .ids(ids($0)) }
  }
}

extension ScreenDeclaration {
  fileprivate static let notes = user(
    "notes",
    .optionalText("prefix", bytes: 0...10),
    follows: ["favorites"],
    actions: [ActionCase("add", .name("id")) { .add($0) }],
    state: ValueFormat(
      .member("ids", .list(of: .text), \.ids),
      .member("language", .text, \.language),
      .pulse("error", .message, \.$error)
    )
  ) { screen, user, prefix in Notes(user: user, screen: screen, prefix: prefix) }

  fileprivate static let songs = user(
    "songs",
    followsDeclared: ["playlist"],
    actions: [ActionCase("add", .name("id")) { .add($0) }],
    state: ValueFormat(
      .member("ids", .list(of: .text), \.ids),
      .member("language", .text, \.language),
      .pulse("error", .message, \.$error)
    )
  ) { screen, user in Notes(user: user, screen: screen, prefix: nil, list: "playlist") }
}
