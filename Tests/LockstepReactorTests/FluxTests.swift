import LockstepReactor
import LockstepReactorTesting
import Testing

private struct PlayerDispatcher: Dispatcher {
  let loading = DispatchSubject<Bool>()
  let errors = DispatchSubject<any Error>()
  let players = DispatchSubject<String>()
}

private final class PlayerStore: FluxStore {
  let isLoading: BoundValue<Bool>
  let player: BoundValue<String>
  let errors: BoundEvents<any Error>

  init(dispatcher: PlayerDispatcher) {
    isLoading = BoundValue(dispatcher.loading, initial: false)
    player = BoundValue(dispatcher.players, initial: "unknown")
    errors = BoundEvents(dispatcher.errors)
  }
}

@Suite("Flux", .timeLimit(.minutes(10)))
struct FluxTests {
  let scheduler = TestScheduler()

  @Test("A bound value is up to date when `dispatch` returns")
  func synchronous() {
    let dispatcher = PlayerDispatcher()
    let store = PlayerStore(dispatcher: dispatcher)
    dispatcher.players.dispatch("Ada")
    #expect(store.player.value == "Ada")
  }

  @Test("Bound values are replayed and distinct; bound events are neither")
  func valuesAndEvents() {
    let dispatcher = PlayerDispatcher()
    let store = PlayerStore(dispatcher: dispatcher)
    for (time, name) in [(100, "Ada"), (250, "Ada"), (260, "Bob")] {
      scheduler.scheduleAt(time) {
        dispatcher.players.dispatch(name)
        dispatcher.errors.dispatch(Broken(name: name))
      }
    }
    let values = scheduler.observe(store.player.values)
    let events = scheduler.createObserver(String.self)
    scheduler.run(from: 200) {
      for await error in store.errors.events().ignoringLosses { events.next("\(error)") }
    }
    scheduler.start()
    #expect(values.events == [.next(200, "Ada"), .next(260, "Bob")])
    #expect(events.events == [.next(250, #"Broken(name: "Ada")"#), .next(260, #"Broken(name: "Bob")"#)])
  }

  @Test("Every store sees the events of all senders in the same order")
  func sameOrder() {
    let subject = DispatchSubject<Int>()
    let first = subject.events()
    let second = subject.events()
    scheduler.scheduleAt(100) { for number in 1...3 { subject.dispatch(number) } }
    let a = scheduler.observe(first, from: 0)
    let b = scheduler.observe(second, from: 0)
    scheduler.start()
    #expect(a.events == b.events)
    #expect(a.elements == [1, 2, 3])
  }

  @Test("An action creator dispatches loading, then the model, then the end of loading")
  func success() {
    #expect(course { "Ada" } == [.next(100, "loading true"), .next(130, "Ada"), .next(130, "loading false")])
  }

  @Test("An action creator dispatches loading, then the error, then the end of loading")
  func failure() {
    #expect(
      course { throw Broken() } == [
        .next(100, "loading true"), .next(130, #"Broken(name: "broken")"#), .next(130, "loading false"),
      ]
    )
  }

  @Test("Cancelled work is not an error, and loading ends")
  func cancelled() {
    #expect(
      course(until: 120) { "Ada" } == [.next(100, "loading true"), .next(120, "loading false")]
    )
  }

  @Test("Cancelled work that throws its own error dispatches no error")
  func cancelledInDisguise() {
    let failing = course(until: 120, whenCancelled: Broken()) { "Ada" }
    #expect(failing == [.next(100, "loading true"), .next(120, "loading false")])
  }

  @Test("With overlapping runs, also of copies of the creator, loading begins with the first and ends with the last")
  func overlappingRuns() {
    let dispatcher = PlayerDispatcher()
    let creator = ActionCreator(
      loading: dispatcher.loading,
      models: dispatcher.players,
      errors: dispatcher.errors
    )
    let copy = creator
    let loading = scheduler.observe(dispatcher.loading.events(), from: 0)
    let clock = scheduler.clock
    let load: @Sendable (Int) async throws -> String = { seconds in
      try await clock.sleep(for: .seconds(seconds))
      return "Ada"
    }
    scheduler.run(from: 100) { await creator.create { try await load(50) } }
    scheduler.run(from: 120) { await copy.create { try await load(100) } }
    scheduler.run(from: 300) { await copy.create { try await load(10) } }
    scheduler.start()
    #expect(loading.events == [.next(100, true), .next(220, false), .next(300, true), .next(310, false)])
  }

  /// Runs an action creator at 100 with work of 30 seconds, and records the dispatched events.
  private func course(
    until: Int = 1000,
    whenCancelled: (any Error)? = nil,
    _ result: @escaping @Sendable () throws -> String
  ) -> [Recorded<String>] {
    let dispatcher = PlayerDispatcher()
    let observer = scheduler.createObserver(String.self)
    let creator = ActionCreator(
      loading: dispatcher.loading,
      models: dispatcher.players,
      errors: dispatcher.errors
    )
    let loading = dispatcher.loading.events()
    let players = dispatcher.players.events()
    let errors = dispatcher.errors.events()
    scheduler.run { for await isLoading in loading.ignoringLosses { observer.next("loading \(isLoading)") } }
    scheduler.run { for await player in players.ignoringLosses { observer.next(player) } }
    scheduler.run { for await error in errors.ignoringLosses { observer.next("\(error)") } }
    scheduler.run(from: 100, until: until) { [clock = scheduler.clock] in
      await creator.create {
        do {
          try await clock.sleep(for: .seconds(30))
        } catch {
          throw whenCancelled ?? error
        }
        return try result()
      }
    }
    scheduler.start()
    return observer.events
  }

  @Test("If a subject finishes, its bound values end after the newest one")
  func finishedSubject() {
    let dispatcher = PlayerDispatcher()
    let store = PlayerStore(dispatcher: dispatcher)
    let values = scheduler.observe(store.player.values)
    scheduler.scheduleAt(300) {
      dispatcher.players.dispatch("Ada")
      dispatcher.players.finish()
    }
    scheduler.start()
    #expect(values.events == [.next(200, "unknown"), .next(300, "Ada"), .completed(300)])
  }

  @Test("A released store removes its subscriptions")
  func unbinding() {
    let dispatcher = PlayerDispatcher()
    var store: PlayerStore? = PlayerStore(dispatcher: dispatcher)
    #expect(dispatcher.players.subscriberCount == 1)
    let values = store?.player.values
    store = nil
    #expect(dispatcher.players.subscriberCount == 0)
    if let values {
      let observer = scheduler.observe(values)
      scheduler.start()
      #expect(observer.events == [.next(200, "unknown"), .completed(200)])
    }
  }
}
