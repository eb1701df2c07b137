import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepTime
import Testing

@testable import LockstepAccounts
@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The composition of the product", .timeLimit(.minutes(10)))
struct CompositionTests {
  @Test("The whole product runs with stubs for all services of the screens")
  func stubs() async throws {
    let (accounts, upstream) = (StubLogIn(nil, [nil]), StubUpstream(nil))
    let states = StubUserStates(.favorites("stub"))
    let replace = { @Sendable (services: inout ScreenServices) in
      services = ScreenServices(
        users: states,
        builtIn: ScreenComponents(accounts: accounts, validators: .stub(), upstream: upstream, dates: StubDates())
      )
    }
    try await ServerFixture.run(replacing: replace) { users in
      let phone = try await users.signUp()
      #expect(try await phone.open("favoritesTop").opened.json["state"] == ["favoriteIds": ["stub"]])
      let detail = try await phone.open("photoDetail?photoId=stub")
      #expect(detail.opened.json["state"]?["dateAdded"] == "2026-11-21T05:06:07.000Z - -")
      let form = try await phone.open("workingHistory")
      _ = try await form.act(
        """
        [{"type":"setCompanyName","payload":{"value":"A"}},{"type":"setPosition","payload":{"value":"B"}},
         {"type":"save"}]
        """
      )
      try await form.shows("saved") { $0["saved"] == 1 }
      #expect(upstream.sent == ["A, B"])
      #expect(states.changes == [.init(saved: ["companyName": "A", "position": "B"])])
      let login = try await users.open("/v1/reactors/login", token: nil)
      _ = try await login.act(
        """
        [{"type":"setUsername","payload":{"value":"x@example.com"}},{"type":"setPassword","payload":{"value":"y"}},
         {"type":"submit"}]
        """
      )
      try await login.shows("a session") { $0["session"]?["user"]?["email"] == "ada@example.com" }
      #expect(accounts.attempts == ["x@example.com y 127.0.0.1"])
    }
  }

  @Test("A link to a screen contains its arguments, with any characters")
  func links() {
    #expect(ScreenLink("login").present() == "/v1/reactors/login")
    let link = ScreenLink("photoDetail", ["photoId": "a/b ü&=?#%+", "b": "~"])
    #expect(link.href == "/v1/reactors/photoDetail?b=~&photoId=a%2Fb%20%C3%BC%26%3D%3F%23%25%2B")
  }

  @Test("Every screen has a name of its own, and every route leads to a screen")
  func routes() {
    let components = ScreenComponents(
      accounts: StubLogIn(nil, []),
      validators: .stub(),
      upstream: LocalProfileUpstream(),
      dates: StubDates()
    )
    let names = BuiltInScreens.declarations(components).map(\.name)
    #expect(Set(names).count == names.count && Set(names) == BuiltInScreens.names)
    let coordinators = CoordinatorFactory(components)
    let link = ScreenLink("photoDetail", ["photoId": "a"])
    #expect(coordinators.favorites().next(for: .photoDetail(photoId: "a")) == link)
    #expect(coordinators.recentFavorites().next(for: .photoDetail(photoId: "a")) == link)
    #expect(coordinators.login().next(for: .favorites) == coordinators.favorites().start())
    let starts = [
      coordinators.login().start(), coordinators.favorites().start(), coordinators.recentFavorites().start(), link,
    ]
    #expect(starts.allSatisfy { names.contains($0.name) })
  }

  @Test("A service that is replaced in the components reaches the reactors of the screens, and the others stay")
  func swap() async throws {
    let ada = InMemoryUser()
    try ada.change("favorites", "add", ["id": "1"])
    var components = ScreenComponents(
      accounts: StubLogIn(nil, []),
      validators: .stub(),
      upstream: LocalProfileUpstream(),
      dates: StubDates()
    )
    let screen = ScreenContext(clock: VirtualClock(), languages: ["de"])
    let before = await ReactorFactory(components).photoDetail("1", screen, ada.screenUser)
    components.dates = NoDates()
    let reactors = ReactorFactory(components)
    let after = await reactors.photoDetail("1", screen, ada.screenUser)
    #expect(before.initialState.dateAdded == "1970-01-01T00:00:00.000Z de -" && after.initialState.dateAdded == "never")
    #expect(before.initialState.isFavorite && after.initialState.isFavorite)
    #expect(reactors.workingHistory(screen, ada.screenUser).upstream is LocalProfileUpstream)
  }
}

/// Writes no dates.
private struct NoDates: DateTexts {
  func text(_ timestamp: Timestamp, languages: [String], timeZone: String?) async -> String { "never" }
}
