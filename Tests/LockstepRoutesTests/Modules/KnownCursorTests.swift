import LockstepHTTP
import LockstepJSON
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepRoutes
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Cursors of resources that are known without encoding", .timeLimit(.minutes(10)))
struct KnownCursorTests {
  private static let favorites = CollectionName("favorites")
  private static let profile = CollectionName("profile")

  private static let view: StateView = {
    var state = UserState()
    state.revision = 9
    for (index, id) in ["a", "b", "c"].enumerated() {
      let item = EncodedJSON(["id": .string(id)])
      _ = state.reduce(
        [.list(.inserted(id: id, item: item, index: 0))],
        in: favorites,
        by: .plainList,
        revision: Revision(number: index + 1)
      )
    }
    for (name, key) in [(profile, "position"), (Suite.collection("standard"), "theme")] {
      _ = state.reduce([.map(.set(key: key, value: EncodedJSON("x")))], in: name, by: .plainMap, revision: 5)
    }
    var registered = RegisteredDefaults()
    registered.apply("theme", in: "standard", value: Array("1".utf8), revision: 1)
    registered.apply("size", in: "standard", value: Array("2".utf8), revision: 2)
    return StateView(store: "store000", LedgerView(state: state, registered: registered))
  }()

  @Test(
    "A known cursor is that of the encoded resource",
    arguments: [
      .list(ListQuery(favorites)), .element(favorites, id: "a"), .element(favorites, id: "none"),
      .map(profile, prefix: nil), .map(profile, prefix: "p"), .entry(profile, key: "position"),
      .entry(profile, key: "none"), .object(profile, members: ["position"]), .suites, .suite("standard", prefix: nil),
      .suite("empty", prefix: nil), .suite("standard", prefix: "t"), .value(suite: "standard", key: "size"),
    ] as [StateResource]
  )
  func cursors(_ resource: StateResource) throws {
    let encoded = try resource.representation(of: Self.view)
    switch resource.knownCursor(in: Self.view) {
    case .cursor(let cursor): #expect(encoded?.cursor == cursor)
    case .missing: #expect(encoded == nil)
    case .onlyWithContent: #expect(encoded != nil)
    }
  }

  @Test("A long list is not kept in memory twice, and its ETag still gives 304")
  func longList() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let data = String(repeating: "x", count: 1_000)
      let adding = (0..<100).map { number in
        ActionsRouteTests.action("favorites", "add", #"{"id":"\#(number)","data":"\#(data)"}"#)
      }
      _ = try await ada.post("/v1/actions", ActionsRouteTests.batch(adding))
      let first = try await ada.get("/v1/favorites")
      #expect(first.status == 200 && first.body.count > 100_000)
      let tag = try #require(first.field("ETag"))
      #expect(try await ada.get("/v1/favorites", ["If-None-Match: \(tag)"]).status == 304)
      let cache = try #require(users.running.withLock { $0?.services.users.states.cache })
      let id = try #require(UserID(ada.user))
      let cached = try #require(cache.state(of: id))
      #expect(cached.representation(of: Self.favorites, registered: .none) == nil)
      _ = try await ada.put("/v1/favorites/0", "{}")
      #expect(try await ada.get("/v1/favorites", ["If-None-Match: \(tag)"]).status == 200)
    }
  }
}
