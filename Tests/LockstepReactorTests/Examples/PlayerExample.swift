import LockstepReactor
import LockstepReactorTesting
import Testing

private struct Player: Sendable, Equatable {
  let name: String
}

private struct PlayerDispatcher: Dispatcher {
  let loading = DispatchSubject<Bool>()
  let players = DispatchSubject<Player?>()
  let errors = DispatchSubject<any Error>()
}

private final class PlayerStore: FluxStore {
  let isLoading: BoundValue<Bool>
  let player: BoundValue<Player?>
  let errors: BoundEvents<any Error>

  init(dispatcher: PlayerDispatcher) {
    isLoading = BoundValue(dispatcher.loading, initial: false)
    player = BoundValue(dispatcher.players, initial: nil)
    errors = BoundEvents(dispatcher.errors)
  }
}

private struct PlayerActions {
  let creator: ActionCreator<Player?>
  let service: @Sendable (String) async throws -> Player

  init(dispatcher: PlayerDispatcher, service: @escaping @Sendable (String) async throws -> Player) {
    creator = ActionCreator(
      loading: dispatcher.loading,
      models: dispatcher.players,
      errors: dispatcher.errors
    )
    self.service = service
  }

  func load(_ name: String) async {
    await creator.create { try await service(name) }
  }
}

@Suite("Example: a player through dispatcher and store", .timeLimit(.minutes(10)))
struct PlayerExample {
  @Test("Loading, error and model are three streams; a late reader gets the model and not the error")
  func player() {
    let scheduler = TestScheduler()
    let clock = scheduler.clock
    let dispatcher = PlayerDispatcher()
    let store = PlayerStore(dispatcher: dispatcher)
    let actions = PlayerActions(dispatcher: dispatcher) { name in
      try await clock.sleep(for: .seconds(20))
      if name == "unknown" { throw Broken(name: "no such player") }
      return Player(name: name)
    }
    scheduler.run(from: 100) { await actions.load("unknown") }
    scheduler.run(from: 200) { await actions.load("Ada") }

    let loading = scheduler.observe(store.isLoading.values, from: 0)
    let players = scheduler.observe(store.player.values, from: 0)
    let errors = scheduler.createObserver(String.self)
    let lateErrors = scheduler.createObserver(String.self)
    for (time, observer) in [(0, errors), (300, lateErrors)] {
      scheduler.run(from: time) {
        for await error in store.errors.events().ignoringLosses { observer.next("\(error)") }
      }
    }
    let latePlayers = scheduler.observe(store.player.values, from: 300)
    scheduler.start()

    #expect(
      loading.events == [
        .next(0, false), .next(100, true), .next(120, false), .next(200, true), .next(220, false),
      ]
    )
    #expect(players.events == [.next(0, nil), .next(220, Player(name: "Ada"))])
    #expect(errors.events == [.next(120, #"Broken(name: "no such player")"#)])
    #expect(lateErrors.events == [])
    #expect(latePlayers.events == [.next(300, Player(name: "Ada"))])
  }
}
