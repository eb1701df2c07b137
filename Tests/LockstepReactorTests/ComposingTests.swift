import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

private protocol Titles: Sendable {
  func title(of photo: String) async throws -> String
}

private struct NoTitles: Titles {
  func title(of photo: String) async throws -> String { throw Broken() }
}

private struct StubTitles: Titles {
  func title(of photo: String) async throws -> String { "Title of \(photo)" }
}

private struct Services: Sendable {
  var titles: any Titles = NoTitles()
  let log = FlowLog()

  func note(_ flow: String) { log.note(flow) }
}

/// The flows that have started and ended.
private final class FlowLog: Sendable {
  let flows = Latest<[String]>([])
  private let noted = Mutex<[String]>([])

  func note(_ flow: String) {
    noted.withLock { noted in
      noted.append(flow)
      flows.publish(noted)
    }
  }
}

/// A photo and its title.
private struct PhotoReactor: Reactor {
  struct State: Sendable, Equatable {
    let photo: String
    var title = ""
  }
  enum Action: Sendable { case load }

  let photo: String
  let titles: any Titles

  var initialState: State { State(photo: photo) }

  func mutate(_ action: Action, in state: State) -> Effect<String> {
    .run { [titles] in try await $0(titles.title(of: state.photo)) }
  }

  static func reduce(_ state: inout State, _ title: String) { state.title = title }
}

/// The view of a photo. The state of its reactor stands for it.
private struct PhotoDetail: Presentable {
  let reactor: PhotoReactor
  func present() async -> PhotoReactor.State { reactor.initialState }
}

private enum ListRoute: Sendable, Equatable {
  case photo(String)
  case unknown
}

/// A flow whose list leads to photos. It ends when its routes end.
private final class ListCoordinator: Coordinator {
  let name: String
  let reactors: ReactorFactory<Services>
  let routes = Latest<ListRoute?>(nil)
  let shown = Latest<[String]>([])

  init(_ name: String, _ reactors: ReactorFactory<Services>) { (self.name, self.reactors) = (name, reactors) }

  func start() async -> [String] {
    reactors.components.note("\(name) started")
    await follow(routes.values) { shown.publish(shown.value + [$0.photo]) }
    reactors.components.note("\(name) ended")
    return shown.value
  }

  func next(for route: ListRoute) -> PhotoDetail? {
    switch route {
    case .photo(let photo): PhotoDetail(reactor: reactors.photo(photo))
    case .unknown: nil
    }
  }
}

/// A flow without routes.
private final class LoginCoordinator: Coordinator {
  let user = Latest<String?>(nil)
  let services: Services

  init(_ services: Services) { self.services = services }

  func start() async -> String? {
    services.note("login started")
    var outcome: String?
    for await user in user.values where user != nil {
      outcome = user
      break
    }
    services.note("login ended")
    return outcome
  }
}

/// The root: first the login, then both lists at once.
private final class AppCoordinator: Coordinator {
  let coordinators: CoordinatorFactory<Services>
  let login = Latest<WeakCoordinator?>(nil)
  let lists = Latest<WeakLists?>(nil)

  init(_ coordinators: CoordinatorFactory<Services>) { self.coordinators = coordinators }

  func start() async -> String {
    let user = await logIn()
    guard let user else { return "no user" }
    return await showLists(of: user)
  }

  private func logIn() async -> String? {
    let child = coordinators.login()
    login.publish(WeakCoordinator(child))
    return await child.start()
  }

  private func showLists(of user: String) async -> String {
    let (favorites, recent) = (coordinators.favorites(), coordinators.recent())
    lists.publish(WeakLists(favorites: favorites, recent: recent))
    async let first = favorites.start()
    async let second = recent.start()
    return await "\(user): \(first), \(second)"
  }
}

private struct WeakCoordinator: Sendable, Equatable {
  weak let coordinator: LoginCoordinator?

  init(_ coordinator: LoginCoordinator) { self.coordinator = coordinator }

  static func == (left: WeakCoordinator, right: WeakCoordinator) -> Bool { left.coordinator === right.coordinator }
}

private struct WeakLists: Sendable, Equatable {
  weak let favorites: ListCoordinator?
  weak let recent: ListCoordinator?

  init(favorites: ListCoordinator, recent: ListCoordinator) { (self.favorites, self.recent) = (favorites, recent) }

  static func == (left: WeakLists, right: WeakLists) -> Bool { left.favorites === right.favorites }
}

extension ReactorFactory<Services> {
  fileprivate func photo(_ photo: String) -> PhotoReactor { PhotoReactor(photo: photo, titles: components.titles) }
}

extension CoordinatorFactory<Services> {
  fileprivate func app() -> AppCoordinator { AppCoordinator(self) }
  fileprivate func login() -> LoginCoordinator { LoginCoordinator(components) }
  fileprivate func favorites() -> ListCoordinator { ListCoordinator("favorites", reactors) }
  fileprivate func recent() -> ListCoordinator { ListCoordinator("recent", reactors) }
}

extension Latest {
  /// Waits for a value.
  fileprivate func first(where matches: (Value) -> Bool) async -> Value? {
    for await value in values where matches(value) { return value }
    return nil
  }
}

@Suite("Composing by hand", .timeLimit(.minutes(10)))
struct ComposingTests {
  @Test("A service that a test replaces in the components reaches the reactor")
  func swap() {
    var services = Services()
    let failing = TestReactor(ReactorFactory(services).photo("1"))
    failing.send(.load)
    failing.receiveFailure("no titles") { $0 is Broken }
    failing.finish()
    services.titles = StubTitles()
    let working = TestReactor(ReactorFactory(services).photo("1"))
    working.send(.load) { $0.title = "Title of 1" }
    working.finish()
  }

  @Test("Two coordinators lead to the same presentable, with the same services")
  func shared() async {
    let coordinators = CoordinatorFactory(Services(titles: StubTitles()))
    for coordinator in [coordinators.favorites(), coordinators.recent()] {
      let detail = coordinator.next(for: .photo("1"))
      #expect(await detail?.present() == PhotoReactor.State(photo: "1"))
      #expect(detail?.reactor.titles is StubTitles)
      #expect(coordinator.next(for: .unknown) == nil)
    }
  }

  @Test("A parent gets the outcome of a child, and the child is released; children can also run at once")
  func children() async throws {
    let services = Services()
    let app = CoordinatorFactory(services).app()
    async let outcome = app.start()
    let login = await app.login.first { $0 != nil }
    _ = await services.log.flows.first { $0 == ["login started"] }
    #expect(app.lists.value == nil)
    login??.coordinator?.user.publish("ada")

    let lists = try #require(await app.lists.first { $0 != nil } ?? nil)
    #expect(login??.coordinator == nil)
    _ = await services.log.flows.first { $0.contains("favorites started") && $0.contains("recent started") }
    for (list, photos) in [(lists.favorites, ["1", "2"]), (lists.recent, ["3"])] {
      for photo in photos {
        list?.routes.publish(.photo(photo))
        _ = await list?.shown.first { $0.last == photo }
      }
      list?.routes.finish()
    }
    #expect(await outcome == #"ada: ["1", "2"], ["3"]"#)
    #expect(lists.favorites == nil && lists.recent == nil)
  }

  @Test("A cancelled parent ends its child")
  func cancelled() async {
    let services = Services()
    let running = Task { await CoordinatorFactory(services).app().start() }
    _ = await services.log.flows.first { $0 == ["login started"] }
    running.cancel()
    #expect(await running.value == "no user")
    #expect(services.log.flows.value == ["login started", "login ended"])
  }
}
