import LockstepReactor
import LockstepReactorTesting
import Testing

private enum Route: Sendable, Equatable {
  case photoDetail(String)
}

private enum FavoritesAction: Sendable {
  case viewWillAppear
  case tapFavoritePhoto(row: Int)
}

// MARK: The route as state

private struct FavoritesWithRouteInState: Reactor {
  struct State: Sendable, Equatable {
    var favoriteIDs: [String] = []
    @Pulse var route: Route?
  }
  enum Mutation: Sendable { case favorites([String]), route(Route) }

  let favorites: BoundValue<[String]>
  var initialState: State { State() }

  func mutate(_ action: FavoritesAction, in state: State) -> Effect<Mutation> {
    switch action {
    case .viewWillAppear: return .just(.favorites(favorites.value))
    case .tapFavoritePhoto(let row):
      // The row comes from the view, and the list may have changed since it was shown.
      guard state.favoriteIDs.indices.contains(row) else { return .none }
      return .just(.route(.photoDetail(state.favoriteIDs[row])))
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(favorites.values.map { .favorites($0) })
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .favorites(let ids): state.favoriteIDs = ids
    case .route(let route): state.route = route
    }
  }
}

// MARK: The route as a separate stream

private struct FavoritesWithRouteStream: Reactor {
  let favorites: BoundValue<[String]>
  /// The object that shows the screen reads these routes. They are not part of the state.
  let routes = DispatchSubject<Route>()
  var initialState: [String] { [] }

  func mutate(_ action: FavoritesAction, in state: [String]) -> Effect<[String]> {
    switch action {
    case .viewWillAppear: return .just(favorites.value)
    case .tapFavoritePhoto(let row):
      guard state.indices.contains(row) else { return .none }
      return .run { [routes] _ in routes.dispatch(.photoDetail(state[row])) }
    }
  }

  static func reduce(_ state: inout [String], _ mutation: [String]) { state = mutation }
}

@Suite("Example: a favorites list that routes to a photo by row", .timeLimit(.minutes(10)))
struct FavoritesExample {
  private let scheduler = TestScheduler()
  private let subject = DispatchSubject<[String]>()

  private func tap<R: Reactor>(_ world: World<R>) where R.Action == FavoritesAction {
    world.send(100, .viewWillAppear)
    world.send(200, .tapFavoritePhoto(row: 1))
    world.send(210, .tapFavoritePhoto(row: 1))
    world.send(220, .tapFavoritePhoto(row: 7))
    world.send(300, .tapFavoritePhoto(row: 0))
    scheduler.start()
  }

  @Test("With the route in the state, the same photo twice gives two pulses, and a missing row gives none")
  func routeAsState() {
    let favorites = BoundValue(subject, initial: ["aurora", "geyser"])
    let world = World(scheduler, FavoritesWithRouteInState(favorites: favorites))
    let routes = scheduler.observe(world.host.states.pulse(\.$route), from: 150)
    tap(world)
    #expect(
      routes.events == [
        .next(150, nil), .next(200, .photoDetail("geyser")), .next(210, .photoDetail("geyser")),
        .next(300, .photoDetail("aurora")), .completed(1000),
      ]
    )
  }

  @Test("With a separate stream, its readers get the route, and the state does not change")
  func routeAsStream() {
    let favorites = BoundValue(subject, initial: ["aurora", "geyser"])
    let reactor = FavoritesWithRouteStream(favorites: favorites)
    let world = World(scheduler, reactor)
    let routes = scheduler.observe(reactor.routes.events(), from: 150)
    tap(world)
    #expect(
      routes.events == [
        .next(200, .photoDetail("geyser")), .next(210, .photoDetail("geyser")), .next(300, .photoDetail("aurora")),
      ]
    )
    #expect(world.states.events == [.next(0, []), .next(100, ["aurora", "geyser"]), .completed(1000)])
  }

  @Test("A favorite from a service is in the list before the next tap")
  func serviceEvent() {
    let favorites = BoundValue(subject, initial: ["aurora"])
    let world = World(scheduler, FavoritesWithRouteInState(favorites: favorites))
    let routes = scheduler.observe(world.host.states.pulse(\.$route), from: 150)
    scheduler.scheduleAt(190) { [subject] in subject.dispatch(["new", "aurora"]) }
    world.send(200, .tapFavoritePhoto(row: 0))
    scheduler.start()
    #expect(routes.elements == [nil, .photoDetail("new")])
  }
}
