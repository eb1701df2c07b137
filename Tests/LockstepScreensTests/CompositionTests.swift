import LockstepJSON
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
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
        accounts: accounts,
        validators: .stub(),
        users: states,
        upstream: upstream,
        dates: StubDates()
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
    let services = ScreenServices(
      accounts: StubLogIn(nil, []),
      validators: .stub(),
      users: StubUserStates(),
      upstream: LocalProfileUpstream(),
      dates: StubDates()
    )
    let names = services.declarations.map(\.name)
    #expect(Set(names).count == names.count && Set(names) == ScreenServices.names)
    let link = ScreenLink("photoDetail", ["photoId": "a"])
    #expect(FavoritesCoordinator().next(for: .photoDetail(photoId: "a")) == link)
    #expect(RecentFavoritesCoordinator().next(for: .photoDetail(photoId: "a")) == link)
    #expect(names.contains(link.name))
  }
}
