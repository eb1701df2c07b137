import LockstepReactor
import LockstepReactorTesting
import Testing

/// A presenter with three parts: it is initial, then prepared with the response of an API, then touched by the
/// user.
private struct Presenter: Reactor {
  enum State: Sendable, Equatable {
    case initial
    case prepared(title: String)
    case touched(title: String, times: Int)
  }
  enum Action: Sendable { case prepare, touch }
  enum Mutation: Sendable { case prepared(title: String), touched }

  /// The response of the API, which is read once for each call.
  let api: ColdSequence<String>

  var initialState: State { .initial }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .prepare:
      .run { [api] emit in
        for try await title in api { try await emit(.prepared(title: title)) }
      }
    case .touch: .just(.touched)
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch (state, mutation) {
    case (_, .prepared(let title)): state = .prepared(title: title)
    case (.initial, .touched): break
    case (.prepared(let title), .touched): state = .touched(title: title, times: 1)
    case (.touched(let title, let times), .touched): state = .touched(title: title, times: times + 1)
    }
  }

  /// A second call during a call is not made.
  func policy(for action: Action) -> EffectPolicy {
    if case .prepare = action { return .first("api") }
    return .all
  }
}

@Suite("Example: a presenter, which is initial, prepared and touched", .timeLimit(.minutes(10)))
struct PresenterExample {
  private let scheduler = TestScheduler()

  /// Runs a presenter from 0. Reads its actions, a cold sequence, from 100 on, and its states from 200 on.
  private func run(
    _ actions: [Recorded<Presenter.Action>],
    api: ColdSequence<String>
  ) -> (world: World<Presenter>, states: TestObserver<Presenter.State>, actions: ColdSequence<Presenter.Action>) {
    let actions = scheduler.createColdSequence(actions)
    let world = World(scheduler, Presenter(api: api))
    let states = scheduler.observe(world.host.states)
    scheduler.scheduleAt(100) { [host = world.host] in
      do { for try await action in actions { host.send(action) } } catch { Issue.record(error) }
    }
    scheduler.start()
    return (world, states, actions)
  }

  @Test("Initial: before the call there is nothing to touch")
  func initial() {
    let api = scheduler.createColdSequence([.next(30, "Aurora"), .completed(30)])
    let result = run([.next(150, .touch), .completed(160)], api: api)
    #expect(result.states.events == [.next(200, .initial), .completed(1000)])
    #expect(result.actions.subscriptions == [Subscription(100, 260)])
    #expect(api.subscriptions == [])
  }

  @Test("Prepared: the call begins when the action arrives, and its response prepares the presenter")
  func prepared() {
    let api = scheduler.createColdSequence([.next(30, "Aurora"), .completed(31)])
    // The times of a cold sequence count from 100, the time at which it is read.
    let result = run([.next(110, .prepare), .next(120, .prepare), .completed(130)], api: api)
    #expect(
      result.states.events == [.next(200, .initial), .next(240, .prepared(title: "Aurora")), .completed(1000)]
    )
    #expect(result.actions.subscriptions == [Subscription(100, 230)])
    #expect(api.subscriptions == [Subscription(210, 241)])
  }

  @Test("Touched: each touch counts after the presenter is prepared")
  func touched() {
    let api = scheduler.createColdSequence([.next(30, "Aurora"), .completed(31)])
    let result = run(
      [.next(110, .prepare), .next(120, .touch), .next(200, .touch), .next(210, .touch), .completed(220)],
      api: api
    )
    #expect(
      result.states.events == [
        .next(200, .initial), .next(240, .prepared(title: "Aurora")), .next(300, .touched(title: "Aurora", times: 1)),
        .next(310, .touched(title: "Aurora", times: 2)), .completed(1000),
      ]
    )
    #expect(result.actions.subscriptions == [Subscription(100, 320)])
    #expect(api.subscriptions == [Subscription(210, 241)])
  }

  @Test("If the call fails, the presenter stays initial and reports the error; a second call prepares it")
  func failure() {
    let api = scheduler.createColdSequence(attempts: [[.error(30, Broken())], [.next(30, "Aurora"), .completed(31)]])
    let result = run([.next(110, .prepare), .next(200, .prepare), .completed(210)], api: api)
    #expect(
      result.states.events == [.next(200, .initial), .next(330, .prepared(title: "Aurora")), .completed(1000)]
    )
    #expect(result.world.failures.events.map(\.time) == [240])
    #expect(api.subscriptions == [Subscription(210, 240), Subscription(300, 331)])
  }
}
