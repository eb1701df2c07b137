import LockstepBuiltInScreens
import LockstepClient
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepServerTesting
import Testing

@Suite("The other screens in time", .timeLimit(.minutes(10)))
struct OtherScreensTimeTests {
  typealias List = RemoteScreen<FavoritesTopAction, FavoritesTop>

  /// Returns the token of another device, a client, and its list, which does not run yet.
  private func makeList(_ server: ServerInProcess) throws -> (token: String, client: LockstepClient, list: List) {
    let token = try server.token(of: "ada@example.com")
    let client = try server.makeClient(for: "ada@example.com")
    return (
      token, client, client.screen("favoritesTop", initially: FavoritesTop(), actions: FavoritesTopAction.self)
    )
  }

  private func add(_ id: String, at time: Int, _ server: ServerInProcess, _ token: String) {
    server.scheduler.scheduleAt(time) {
      let request = ClientRequest("PUT", "/v1/favorites/\(id)", token: token, body: #"{"title":"Photo"}"#)
      _ = try? await server.response(to: request)
    }
  }

  @Test("The list shows what another device adds, but not while it is hidden")
  func favoritesTop() throws {
    try ServerInProcess.run { server in
      let (token, _, list) = try makeList(server)
      let ids = server.scheduler.observe(list.states.distinct { $0.favoriteIds.joined() }, from: 0, until: nil)
      server.scheduler.run { await list.run() }
      add("a", at: 10, server, token)
      server.scheduler.scheduleAt(20) { list.send(.setActive(false)) }
      add("b", at: 30, server, token)
      add("c", at: 40, server, token)
      server.scheduler.scheduleAt(50) { list.send(.setActive(true)) }
      server.scheduler.advance(to: 100)
      #expect(ids.events == [.next(0, ""), .next(10, "a"), .next(50, "abc")])
    }
  }

  @Test("Each tap fires a route, and a change of another device fires none")
  func routes() throws {
    try ServerInProcess.run { server in
      let (token, _, list) = try makeList(server)
      let routes = server.scheduler.createObserver(String.self)
      server.scheduler.run { await list.run() }
      server.scheduler.run {
        for await route in list.pulses(\.route) { routes.next("\(route.value.photoId), missed \(route.missed)") }
      }
      add("a", at: 10, server, token)
      server.scheduler.scheduleAt(20) { list.send(.tapFavoritePhoto(0)) }
      add("b", at: 30, server, token)
      server.scheduler.scheduleAt(40) { list.send(.tapFavoritePhoto(0)) }
      // These go to the server as one step.
      server.scheduler.scheduleAt(50) { for row in [0, 1, 0] { list.send(.tapFavoritePhoto(row)) } }
      server.scheduler.scheduleAt(60) { server.goOffline() }
      server.scheduler.scheduleAt(70) { server.goOnline() }
      server.scheduler.scheduleAt(200) { list.send(.viewWillAppear) }
      server.scheduler.scheduleAt(210) { list.send(.tapFavoritePhoto(1)) }
      server.scheduler.advance(to: 300)
      #expect(
        routes.events == [
          .next(20, "a, missed 0"), .next(40, "a, missed 0"), .next(50, "a, missed 2"), .next(210, "b, missed 0"),
        ]
      )
      #expect(list.currentState.favoriteIds == ["a", "b"])
    }
  }

  @Test("A route leads to the next screen, which changes the first one")
  func route() throws {
    try ServerInProcess.run { server in
      let (token, client, list) = try makeList(server)
      let ids = server.scheduler.observe(list.states.distinct { $0.favoriteIds.joined() }, from: 0, until: nil)
      server.scheduler.run { await list.run() }
      add("a", at: 10, server, token)
      server.scheduler.scheduleAt(20) { list.send(.tapFavoritePhoto(0)) }
      server.scheduler.advance(to: 30)
      let href = try #require(list.currentState.route?.href)
      let detail = client.screen(at: href, initially: PhotoDetail(), actions: PhotoDetailAction.self)
      server.scheduler.run(from: 30) { await detail.run() }
      server.scheduler.scheduleAt(40) { detail.send(.toggleFavorite) }
      server.scheduler.advance(to: 35)
      #expect(detail.currentState.title == "Photo" && detail.currentState.isFavorite)
      #expect(detail.currentState.dateAdded?.contains("2027") == true)
      server.scheduler.advance(to: 100)
      #expect(!detail.currentState.isFavorite)
      #expect(ids.events == [.next(0, ""), .next(10, "a"), .next(40, "")])
    }
  }

  @Test("The client goes on with the session of the login screen")
  func login() throws {
    try ServerInProcess.run { server in
      _ = try server.token(of: "ada@example.com")
      let client = try server.makeClient()
      server.clock.start { await client.run() }
      let login = client.screen("login", initially: Login(), actions: LoginAction.self)
      let form = client.screen("workingHistory", initially: WorkingHistory(), actions: WorkingHistoryAction.self)
      let connections = server.scheduler.observe(form.statuses.distinct(\.connection), from: 0, until: nil)
      server.scheduler.run { await login.run() }
      server.scheduler.run(from: 5) { await form.run() }
      server.scheduler.scheduleAt(10) {
        login.send(.setUsername("ada@example.com"))
        login.send(.setPassword("wrong wrong"))
        login.send(.submit)
      }
      server.scheduler.scheduleAt(20) {
        login.send(.setPassword("correct horse"))
        login.send(.submit)
      }
      server.scheduler.scheduleAt(30) {
        if let session = login.currentState.session { try? await client.logIn(token: session.token) }
      }
      server.scheduler.advance(to: 25)
      #expect(login.currentState.session != nil && client.status.connection == .needsLogin)
      #expect(login.currentState.route == .init(id: 1, name: "favoritesTop", href: "/v1/reactors/favoritesTop"))
      server.scheduler.advance(to: 40)
      #expect(client.status.connection == .live && client.status.isReady)
      #expect(
        connections.events == [
          .next(0, .stopped), .next(5, .connecting), .next(5, .needsLogin), .next(30, .connecting), .next(30, .live),
        ]
      )
    }
  }

  @Test("A client sees that a rule is being checked, and then the result. A test replaces the rule for the address")
  func validation() throws {
    let scheduler = TestScheduler()
    let replace = { @Sendable (validators: inout ScreenValidators) in
      validators.username = { screen in
        AsyncValidator(Validator { $0.isEmpty ? .empty : .validating(message: "Asking…") }) { name in
          try await screen.clock.sleep(for: .seconds(10))
          return name == "ada" ? .ok(message: "Username available") : .failed(message: "Taken")
        }
      }
    }
    try ServerInProcess.run(scheduler: scheduler, validators: replace) { server in
      let client = try server.makeClient()
      server.clock.start { await client.run() }
      let login = client.screen("login", initially: Login(), actions: LoginAction.self)
      let names = scheduler.observe(login.states.distinct(\.usernameValidation.row), from: 0, until: nil)
      let passwords = scheduler.observe(login.states.distinct(\.passwordValidation.row), from: 0, until: nil)
      scheduler.run { await login.run() }
      scheduler.scheduleAt(10) {
        login.send(.setUsername("grace"))
        login.send(.setPassword("1234567"))
      }
      scheduler.scheduleAt(15) {
        login.send(.setUsername("ada"))
        login.send(.setPassword("12345678"))
      }
      scheduler.advance(to: 60)
      #expect(names.elements == [": ", "empty: ", "validating: Asking…", "ok: Username available"])
      #expect(
        passwords.elements == [
          ": ", "empty: Enter the password.", "validating: Checking the length of the password…",
          "failed: A password has at least 8 characters.", "ok: The length of the password is valid.",
        ]
      )
      #expect(login.currentState.isLoginEnabled)
    }
  }
}
