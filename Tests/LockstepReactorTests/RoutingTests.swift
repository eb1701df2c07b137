import LockstepReactor
import LockstepReactorTesting
import Testing

private enum Place: Sendable, Equatable {
  case photo(String)
  case nowhere
}

private struct Link: Presentable {
  let address: String
  func present() async -> String { "link to \(address)" }
}

private struct Links: Coordinator {
  func next(for route: Place) -> Link? {
    switch route {
    case .photo(let id): Link(address: "/photos/\(id)")
    case .nowhere: nil
    }
  }
}

private struct Browsing: Reactor {
  struct State: Sendable, Equatable {
    @Pulse var route: Place?
    var title = ""
  }
  enum Action: Sendable { case go(Place?), rename(String) }

  var initialState: State { State() }

  static func reduce(_ state: inout State, _ mutation: Action) {
    switch mutation {
    case .go(let place): state.route = place
    case .rename(let title): state.title = title
    }
  }
}

@Suite("Routing", .timeLimit(.minutes(10)))
struct RoutingTests {
  @Test("A coordinator follows all routes, also the same one twice")
  func follow() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Browsing())
    let shown = scheduler.createObserver(String.self)
    scheduler.run { [host = world.host] in
      await Links().follow(host.states.pulse(\.$route)) { shown.next($0) }
    }
    world.send(100, .go(.photo("1")))
    world.send(200, .rename("x"))
    world.send(300, .go(.photo("1")))
    world.send(400, .go(.nowhere))
    world.send(500, .go(nil))
    world.send(600, .go(.photo("2")))
    scheduler.start()
    #expect(
      shown.events == [
        .next(100, "link to /photos/1"), .next(300, "link to /photos/1"), .next(600, "link to /photos/2"),
      ]
    )
  }
}
