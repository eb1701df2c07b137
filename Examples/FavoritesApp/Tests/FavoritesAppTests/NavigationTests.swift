import FavoritesModel
import LockstepClient
import LockstepClientTesting
import LockstepReactor
import Observation
import Testing

/// An app with a server in memory, and its root coordinator.
@MainActor
private struct App {
  let server = FakeServer()
  let coordinators: CoordinatorFactory<AppComponents>
  let root: AppCoordinator

  init(token: String? = "token") throws {
    let client = try LockstepClient(store: .memory, transport: server, credentials: MemoryCredentials(token))
    coordinators = CoordinatorFactory(AppComponents(client: client))
    root = coordinators.app()
  }

  /// Runs the app while `body` uses it.
  static func run(token: String? = "token", _ body: (App) async throws -> Void) async throws {
    let app = try App(token: token)
    let running = Task { await app.root.start() }
    try await body(app)
    running.cancel()
    await running.value
    #expect(app.root.child == nil)
  }

  /// The login, as soon as the app shows it.
  func login() async -> LoginCoordinator {
    await shown { if case .login(let login) = root.child { login } else { nil } }
  }

  /// The favorites, as soon as the app shows them.
  func favorites() async -> FavoritesCoordinator {
    await shown { if case .favorites(let favorites) = root.child { favorites } else { nil } }
  }
}

/// Waits until models have a value.
@MainActor
private func shown<Value: Sendable>(_ find: () -> Value?) async -> Value {
  while true {
    let (changes, change) = AsyncStream.makeStream(of: Void.self)
    let found = withObservationTracking(find) { change.yield() }
    if let found { return found }
    for await _ in changes { break }
    // The change happens after this call.
    await Task.yield()
  }
}

@Suite("Navigation", .timeLimit(.minutes(10)))
@MainActor
struct NavigationTests {
  @Test("A new device shows the login, then the favorites, and after a logout the login again")
  func root() async throws {
    try await App.run(token: nil) { app in
      let login = await app.login()
      await login.logIn(email: "ada@example.com", password: "correct horse")
      #expect(login.failure == nil)
      weak let favorites = await app.favorites()
      try await app.root.client.logOut()
      let second = await app.login()
      #expect(second !== login && favorites == nil)
      await second.signUp(email: "grace@example.com", password: "correct horse")
      _ = await app.favorites()
    }
  }

  @Test("A route opens a sheet, and the sheet closes when its flow ends")
  func sheets() async throws {
    try await App.run { app in
      let favorites = await app.favorites()
      weak var last: ProfileCoordinator?
      for _ in 1...2 {
        favorites.open(.profile)
        let profile = await shown { if case .profile(let profile)? = favorites.sheet { profile } else { nil } }
        #expect(last == nil)
        last = profile
        profile.done()
        await shown { favorites.sheet == nil ? () : nil }
      }
      // The user swipes a sheet away. Its flow ends, so the next route is followed.
      favorites.open(.login)
      weak let login = await shown { if case .login(let login)? = favorites.sheet { login } else { nil } }
      favorites.sheet = nil
      favorites.open(.profile)
      _ = await shown { if case .profile(let profile)? = favorites.sheet { profile } else { nil } }
      #expect(login == nil)
    }
  }

  @Test("A sheet closes when the user logs in, and stays when that fails")
  func login() async throws {
    try await App.run { app in
      let favorites = await app.favorites()
      favorites.open(.login)
      let login = await shown { if case .login(let login)? = favorites.sheet { login } else { nil } }
      app.server.goOffline()
      await login.logIn(email: "ada@example.com", password: "correct horse")
      #expect(login.failure != nil && !login.isBusy && favorites.sheet != nil)
      app.server.goOnline()
      await login.logIn(email: "ada@example.com", password: "correct horse")
      await shown { favorites.sheet == nil ? () : nil }
      #expect(login.failure == nil)
    }
  }

  @Test("A service that is replaced in the components reaches the model of the list")
  func swap() async throws {
    var components = try App().coordinators.components
    components.newPhotoID = { "photo:7" }
    let model = CoordinatorFactory(components).favorites().model
    try await model.add(titled: "Aurora")
    #expect(model.photos.list.elements == [Photo(id: "photo:7", title: "Aurora")])
  }
}
