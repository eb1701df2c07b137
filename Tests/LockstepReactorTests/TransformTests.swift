import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

/// A `Script` whose transforms are set by a test.
private struct Transformed: Reactor {
  let script: Script
  var actions: @Sendable (Flow<Script.Action>) -> Flow<Script.Action> = { $0 }
  var mutations: @Sendable (Flow<String>) -> Flow<String> = { $0 }
  var states: @Sendable (Flow<String>) -> Flow<String> = { $0 }

  var initialState: String { script.initialState }
  func mutate(_ action: Script.Action, in state: String) -> Effect<String> { script.mutate(action, in: state) }
  static func reduce(_ state: inout String, _ mutation: String) { Script.reduce(&state, mutation) }
  func transform(action: Flow<Script.Action>) -> Flow<Script.Action> { actions(action) }
  func transform(mutation: Flow<String>) -> Flow<String> { mutations(mutation) }
  func transform(state: Flow<String>) -> Flow<String> { states(state) }
}

@Suite("Transforms", .timeLimit(.minutes(10)))
struct TransformTests {
  let scheduler = TestScheduler()
  var script: Script { Script(clock: scheduler.clock) }

  @Test("An event of a service becomes a mutation")
  func mergedMutations() {
    let favorites = DispatchSubject<Int>()
    let world = World(
      scheduler,
      Transformed(
        script: script,
        mutations: { flow in flow.merging(favorites.events().map { "favorites(\($0))" }) }
      )
    )
    world.send(100, .now("a"))
    scheduler.scheduleAt(150) { favorites.dispatch(3) }
    world.send(200, .now("b"))
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(100, "a"), .next(150, "a favorites(3)"), .next(200, "a favorites(3) b"), .completed(1000),
      ]
    )
    #expect(favorites.subscriberCount == 1)
  }

  @Test("No event between the creation of a host and its start is lost")
  func noGap() {
    let subject = DispatchSubject<String>()
    let host = ReactorHost(Transformed(script: script, mutations: { $0.merging(subject.events()) }))
    subject.dispatch("early")
    scheduler.run(from: 100) { await host.run() }
    scheduler.start()
    #expect(host.currentState == "early")
  }

  @Test("An error in a merged stream is reported and ends only that stream")
  func mergedError() {
    let bad = scheduler.createColdSequence([.next(100, "bad"), .error(110, Broken())])
    let good = scheduler.createColdSequence([.next(105, "good1"), .next(300, "good2")])
    let world = World(
      scheduler,
      Transformed(script: script, mutations: { $0.merging(bad).merging(good) })
    )
    world.send(200, .now("a"))
    scheduler.start()
    #expect(world.host.currentState == "bad good1 a good2")
    #expect(world.failures.events == [.next(110, #"Broken(name: "broken") from mutationStream"#)])
    #expect(bad.subscriptions == [Subscription(0, 110)])
    #expect(good.subscriptions == [Subscription(0, 1000)])
  }

  @Test("Merged actions are handled like those that are sent")
  func mergedActions() {
    let timer = scheduler.createColdSequence([.next(100, "tick"), .next(200, "tick"), .completed(201)])
    let world = World(
      scheduler,
      Transformed(script: script, actions: { $0.merging(timer.map { Script.Action.now($0) }) })
    )
    world.send(150, .now("a"))
    scheduler.start()
    #expect(world.host.currentState == "tick a tick")
  }

  @Test("A merged action above the capacity is dropped and reported")
  func mergedActionRefused() {
    let clock = scheduler.clock
    let work = clock.steps("work", [(500, "done")])
    let actions = scheduler.createColdSequence([.next(100, 1), .next(110, 2)])
    let world = World(
      scheduler,
      Transformed(script: script, actions: { $0.merging(actions.map { _ in work }) }),
      capacity: 1
    )
    scheduler.start()
    #expect(world.host.currentState == "done")
    #expect(
      world.failures.events == [
        .next(
          110,
          "The host is at its capacity: too many actions wait or have a running effect. It dropped an action of a "
            + "merged stream. Raise the capacity, or let effects end sooner. from actionStream"
        )
      ]
    )
  }

  @Test("A merged stream of events that overflows reports a failure, and continues after the gap")
  func mergedEventsLost() {
    let subject = DispatchSubject<Int>()
    let world = World(
      scheduler,
      Transformed(script: script, mutations: { $0.merging(subject.events(capacity: 2).map { "\($0)" }) })
    )
    scheduler.scheduleAt(100) { for number in 1...5 { subject.dispatch(number) } }
    scheduler.scheduleAt(200) { subject.dispatch(6) }
    scheduler.start()
    #expect(world.host.currentState == "4 5 6")
    #expect(world.failures.events == [.next(100, "\(EventsLostError(count: 3)) from mutationStream")])
  }

  @Test("Merged events within the capacity are not lost, however many come at once")
  func mergedBurst() {
    let subject = DispatchSubject<Int>()
    let world = World(
      scheduler,
      Transformed(script: script, mutations: { $0.merging(subject.events(capacity: 1_000).map { "\($0)" }) })
    )
    scheduler.scheduleAt(100) { for number in 1...1_000 { subject.dispatch(number) } }
    scheduler.start()
    #expect(world.host.currentState == (1...1_000).map(String.init).joined(separator: " "))
    #expect(world.failures.events == [])
  }

  @Test("A stream of refused actions waits until each refusal was reported, so that they do not accumulate")
  func refusalsDoNotPileUp() {
    let produced = Mutex(0)
    let refusalsToldAt = Mutex<[Int]>([])
    let work = scheduler.clock.steps("work", [(500, "done")])
    // The stream never suspends by itself. Only the host holds it back.
    let flood = AsyncStream {
      produced.withLock { produced in
        produced += 1
        return produced <= 20 ? work : nil
      }
    }
    let host = ReactorHost(Transformed(script: script, actions: { $0.merging(flood) }), capacity: 1) { trace in
      guard case .failure = trace else { return }
      refusalsToldAt.withLock { $0.append(produced.withLock { $0 }) }
    }
    scheduler.run { await host.run() }
    scheduler.start()
    #expect(refusalsToldAt.withLock { $0 } == Array(2...20))
  }

  @Test("Actions can be filtered and changed; a filtered action is settled at once")
  func filteredActions() {
    let world = World(
      scheduler,
      Transformed(
        script: script,
        actions: {
          $0.filter { $0.description != "blocked" }.map { action in action.description == "x" ? .now("y") : action }
        }
      )
    )
    let settled = scheduler.createObserver(String.self)
    scheduler.scheduleAt(100) { [host = world.host] in
      host.send(Script.Action(description: "x") { _ in .just("x") })
      if let receipt = try? host.submit(Script.Action(description: "blocked") { _ in .just("blocked") }) {
        settled.next((try? await receipt.settled()) ?? "failed")
      }
    }
    scheduler.start()
    #expect(world.host.currentState == "y")
    #expect(settled.events == [.next(100, "y")])
  }

  @Test("Mutations of effects and merged mutations can be filtered")
  func filteredMutations() {
    let merged = scheduler.createColdSequence([.next(50, "m"), .next(60, "no")])
    let late = scheduler.createColdSequence([.next(70, "no")])
    let world = World(
      scheduler,
      Transformed(
        script: script,
        mutations: { $0.merging(merged).filter { $0 != "no" }.merging(late) }
      )
    )
    world.send(100, .now("a", "no", "b"))
    world.send(200, scheduler.clock.steps("effect", [(10, "no"), (10, "c")]))
    scheduler.start()
    #expect(world.host.currentState == "m no a b c")
  }

  @Test("The state transform changes what is shown, never what is reduced")
  func shapedStates() {
    let world = World(
      scheduler,
      Transformed(script: script, states: { $0.map { "[\($0)]" }.filter { $0 != "[a b]" } })
    )
    world.send(100, .now("a"))
    world.send(200, .now("b"))
    world.send(300, .now("c"))
    scheduler.start()
    #expect(
      world.states.events == [.next(0, "[]"), .next(100, "[a]"), .next(300, "[a b c]"), .completed(1000)]
    )
  }

  @Test("A state merged from elsewhere is shown until the next one is reduced")
  func mergedStates() {
    let banner = scheduler.createColdSequence([.next(150, "maintenance")])
    let world = World(scheduler, Transformed(script: script, states: { $0.merging(banner) }))
    world.send(100, .now("a"))
    world.send(200, .now("b"))
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(100, "a"), .next(150, "maintenance"), .next(200, "a b"), .completed(1000),
      ]
    )
  }
}
