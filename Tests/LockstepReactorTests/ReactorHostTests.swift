import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

@Suite("Reactor host", .timeLimit(.minutes(10)))
struct ReactorHostTests {
  @Test("A state stream gives the latest state to each new subscriber, and then distinct states")
  func replayThenDistinct() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Setting())
    world.send(100, 1)
    world.send(300, 1)
    world.send(310, 2)
    world.send(320, 2)
    world.send(330, 1)
    let late = scheduler.observe(world.host.states, from: 200)
    scheduler.start()
    #expect(world.states.events == [.next(0, 0), .next(100, 1), .next(310, 2), .next(330, 1), .completed(1000)])
    #expect(late.elements == [1, 2, 1])
    #expect(late.events.first == .next(200, 1))
  }

  @Test("The mutations of one action are reduced in order")
  func orderWithinAnAction() {
    let world = World()
    world.send(100, .now("a", "b", "c"))
    world.send(200, world.clock.steps("later", [(10, "d"), (0, "e"), (5, "f")]))
    world.scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(100, "a b c"), .next(210, "a b c d"), .next(210, "a b c d e"), .next(215, "a b c d e f"),
        .completed(1000),
      ]
    )
  }

  @Test("The effects of two actions overlap, but their reductions do not")
  func interleaving() {
    let world = World()
    world.send(100, world.clock.steps("a", [(10, "a1"), (10, "a2")]))
    world.send(105, world.clock.steps("b", [(10, "b1"), (10, "b2")]))
    world.scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(110, "a1"), .next(115, "a1 b1"), .next(120, "a1 b1 a2"), .next(125, "a1 b1 a2 b2"),
        .completed(1000),
      ]
    )
  }

  @Test("Actions are handled in the order of sending")
  func orderOfSend() {
    let world = World()
    for name in ["a", "b", "c", "d"] { world.send(100, .now(name)) }
    world.scheduler.start()
    #expect(world.host.currentState == "a b c d")
  }

  @Test("An action sent by an observer of a state is handled after the present action")
  func noReentrancy() {
    let world = World()
    let host = world.host
    world.scheduler.run {
      for await state in host.states where state == "a b" { host.send(.now("from observer")) }
    }
    world.send(100, .now("a", "b"))
    world.send(101, .now("c"))
    world.scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(100, "a b"), .next(100, "a b from observer"), .next(101, "a b from observer c"),
        .completed(1000),
      ]
    )
  }

  @Test("An action sent by a trace is queued, without recursion")
  func sendFromTrace() {
    let scheduler = TestScheduler()
    let log = scheduler.createObserver(String.self)
    let box = HostBox()
    let host = ReactorHost(Script(clock: scheduler.clock)) { trace in
      guard case .mutation(let mutation) = trace else { return }
      log.next("begin \(mutation)")
      if mutation == "a" { box.send(.now("sent by a")) }
      log.next("end \(mutation)")
    }
    box.set(host)
    scheduler.run { await host.run() }
    scheduler.scheduleAt(100) { host.send(.now("a", "b")) }
    scheduler.start()
    #expect(
      log.elements == ["begin a", "end a", "begin b", "end b", "begin sent by a", "end sent by a"]
    )
  }

  @Test("An effect that throws is a failure of its action, and the host continues")
  func failingEffect() {
    let world = World()
    world.send(100, world.clock.steps("bad", [(10, "before")], error: Broken()))
    world.send(105, world.clock.steps("good", [(10, "good")]))
    world.send(200, Script.Action(description: "refused") { _ in .failure(Broken(name: "no")) })
    world.send(300, .now("after"))
    world.scheduler.start()
    #expect(
      world.failures.events == [
        .next(110, #"Broken(name: "broken") from action(bad)"#),
        .next(200, #"Broken(name: "no") from action(refused)"#),
      ]
    )
    #expect(world.host.currentState == "before good after")
  }

  @Test("Closing a host cancels every effect, ends every stream and refuses further actions")
  func closing() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Script(clock: scheduler.clock), until: nil)
    let cancelled = scheduler.createObserver(String.self)
    for name in ["a", "b"] {
      let endless = Script.Action(description: name) { _ in
        .run { [clock = scheduler.clock] _ in
          do { try await clock.sleep(for: .seconds(10_000)) } catch { cancelled.next("\(name) cancelled") }
        }
      }
      world.send(100, endless)
    }
    let admissions = scheduler.createObserver(SendResult.self)
    scheduler.scheduleAt(300) { [host = world.host] in
      host.close()
      admissions.next(host.send(.now("too late")))
    }
    scheduler.start()
    #expect(cancelled.events == [.next(300, "a cancelled"), .next(300, "b cancelled")])
    #expect(world.states.events == [.next(0, ""), .completed(300)])
    #expect(admissions.elements == [.closed])
    #expect(scheduler.time == 300)
  }

  @Test("Cancelling `run()` closes the host")
  func cancelling() {
    let world = World()
    world.send(100, world.clock.steps("endless", [(10_000, "never")]))
    world.scheduler.start()
    #expect(world.scheduler.time == 1000)
    #expect(world.host.send(.now("too late")) == .closed)
    #expect(world.host.currentState == "")
  }

  @Test("When the host ends, actions that were sent but not handled are dropped", arguments: Ending.allCases)
  func endingDropsTheBatch(ending: Ending) {
    let scheduler = TestScheduler()
    let box = HostBox()
    let host = ReactorHost(Script(clock: scheduler.clock)) { trace in
      if case .mutation("a") = trace { box.end(ending) }
    }
    let started = scheduler.createObserver(String.self)
    let outcomes = scheduler.createObserver(String.self)
    box.set(host, running: scheduler.clock.start { await host.run() })
    scheduler.scheduleAt(100) {
      // All three are in one batch, because the host takes the queue after this closure.
      host.send(.now("a"))
      let receipt = try? host.submit(.now("b"))
      host.send(Script.Action(description: "effect") { _ in .run { _ in started.next("effect") } })
      do { outcomes.next(try await receipt?.reduced() ?? "none") } catch { outcomes.next("\(error)") }
    }
    scheduler.start()
    #expect(host.currentState == "a")
    #expect(outcomes.events == [.next(100, "CancellationError()")])
    #expect(started.events == [])
    #expect(host.send(.now("c")) == .closed)
  }

  @Test("If the host ends before it reduces a mutation, the effect's `emit` throws CancellationError")
  func endingDropsWhatWasEmitted() {
    let scheduler = TestScheduler()
    let box = HostBox()
    let host = ReactorHost(Script(clock: scheduler.clock)) { trace in
      if case .mutation("a") = trace { box.end(.close) }
    }
    box.set(host, running: scheduler.clock.start { await host.run() })
    let outcomes = scheduler.createObserver(String.self)
    for name in ["a", "b"] {
      let emitting = Script.Action(description: name) { _ in
        .run { emit in
          do {
            try await emit(name)
            outcomes.next("\(name) was reduced")
          } catch {
            outcomes.next("\(name): \(error)")
          }
        }
      }
      host.send(emitting)
    }
    scheduler.start()
    #expect(host.currentState == "a")
    #expect(outcomes.elements.sorted() == ["a was reduced", "b: CancellationError()"])
  }

  @Test("After the end, no action that waits in a serial lane gets its turn")
  func endingStopsALane() {
    let scheduler = TestScheduler()
    let box = HostBox()
    let host = ReactorHost(Script(clock: scheduler.clock)) { trace in
      if case .mutation("b") = trace { box.end(.close) }
    }
    box.set(host, running: scheduler.clock.start { await host.run() })
    host.send(scheduler.clock.steps("work", policy: .serial("x"), [(10, "a")]))
    for name in ["b", "c"] {
      host.send(Script.Action(description: name, policy: .serial("x")) { _ in .just(name) })
    }
    scheduler.start()
    #expect(host.currentState == "a b")
  }

  @Test("Actions sent before `run()` wait for it; a host that was closed before never runs")
  func beforeRun() {
    let scheduler = TestScheduler()
    let host = ReactorHost(Script(clock: scheduler.clock))
    host.send(.now("early"))
    scheduler.run(from: 100) { await host.run() }
    let states = scheduler.observe(host.states, from: 0)
    scheduler.start()
    #expect(states.events == [.next(0, ""), .next(100, "early")])

    let closed = ReactorHost(Script(clock: scheduler.clock))
    closed.send(.now("early"))
    closed.close()
    scheduler.run { await closed.run() }
    scheduler.start()
    #expect(closed.currentState == "")
  }

  @Test("A host that is released without running ends its streams")
  func letGo() {
    let scheduler = TestScheduler()
    let states = scheduler.observe(ReactorHost(Setting()).states)
    scheduler.start()
    #expect(states.events == [.next(200, 0), .completed(200)])
  }

  @Test("A host runs once: a second `run()` returns at once")
  func runsOnce() {
    let world = World()
    let returned = world.scheduler.createObserver(String.self)
    world.scheduler.run(from: 100) { [host = world.host] in
      await host.run()
      returned.next("returned")
    }
    world.send(200, .now("a"))
    world.scheduler.start()
    #expect(returned.events == [.next(100, "returned")])
    #expect(world.host.currentState == "a")
  }

  @Test("A host refuses actions above its capacity, and accepts again when effects have ended")
  func capacity() {
    let world = World(capacity: 3)
    let admissions = world.scheduler.createObserver(SendResult.self)
    let work = world.clock.steps("work", [(50, "done")])
    world.scheduler.scheduleAt(100) { [host = world.host] in
      for _ in 1...4 { admissions.next(host.send(work)) }
    }
    world.scheduler.scheduleAt(120) { [host = world.host] in admissions.next(host.send(.now("no"))) }
    world.scheduler.scheduleAt(160) { [host = world.host] in admissions.next(host.send(.now("yes"))) }
    world.scheduler.start()
    #expect(
      admissions.events == [
        .next(100, .accepted), .next(100, .accepted), .next(100, .accepted), .next(100, .full),
        .next(120, .full), .next(160, .accepted),
      ]
    )
    #expect(world.host.currentState == "done done done yes")
  }

  @Test("A settled action makes room at once, also within a batch")
  func roomAtOnce() {
    let scheduler = TestScheduler()
    let box = HostBox()
    let admissions = scheduler.createObserver(SendResult.self)
    let host = ReactorHost(Script(clock: scheduler.clock), capacity: 2) { trace in
      if case .mutation("b") = trace { admissions.next(box.send(.now("c"))) }
    }
    box.set(host, running: scheduler.clock.start { await host.run() })
    scheduler.scheduleAt(100) {
      host.send(.now("a"))
      host.send(.now("b"))
    }
    scheduler.start()
    #expect(admissions.elements == [.accepted])
    #expect(host.currentState == "a b c")
  }

  @Test("A fast endless effect cannot emit faster than its mutations are reduced")
  func backPressure() {
    let world = World()
    let flood = Script.Action(description: "flood") { _ in
      .run { emit in
        while true { try await emit("x") }
      }
    }
    let counter = Counter()
    let host = ReactorHost(Script(clock: world.clock)) { trace in
      if case .mutation = trace, counter.increase() == 1_000 { counter.close() }
    }
    counter.set(host)
    world.scheduler.run { await host.run() }
    host.send(flood)
    world.scheduler.start()
    #expect(counter.count == 1_000)
  }

  @Test("A trace reports all that a host does, in order")
  func trace() {
    let scheduler = TestScheduler()
    let log = scheduler.createObserver(String.self)
    let host = ReactorHost(Script(clock: scheduler.clock)) { log.next("\($0)") }
    scheduler.run { await host.run() }
    scheduler.scheduleAt(100) { host.send(.now("a")) }
    scheduler.scheduleAt(200) { host.send(scheduler.clock.steps("work", [(10, "b")], error: Broken())) }
    scheduler.start()
    #expect(
      log.events == [
        .next(100, "action(now)"), .next(100, #"mutation("a")"#), .next(100, #"state("a")"#),
        .next(200, "action(work)"), .next(200, "effectStarted(work, effect: 1)"),
        .next(210, #"mutation("b")"#), .next(210, #"state("a b")"#), .next(210, "effectEnded(work, effect: 1)"),
        .next(
          210,
          #"failure(LockstepReactor.ReactorFailure<LockstepReactorTests.Script.Action>(origin: "#
            + #"LockstepReactor.ReactorFailure<LockstepReactorTests.Script.Action>.Origin.action(work), error: "#
            + #"LockstepReactorTests.Broken(name: "broken")))"#
        ),
      ]
    )
  }
}

/// A reactor whose state is the last action.
struct Setting: Reactor {
  var initialState: Int { 0 }
  static func reduce(_ state: inout Int, _ mutation: Int) { state = mutation }
  typealias Action = Int
}

/// The ways in which a host ends.
enum Ending: CaseIterable {
  case close, cancel
}

/// Gives a trace access to its host.
private final class HostBox: Sendable {
  private let contents = Mutex<(host: ReactorHost<Script>?, running: Task<Void, Never>?)>((nil, nil))

  func set(_ host: ReactorHost<Script>, running: Task<Void, Never>? = nil) {
    contents.withLock { $0 = (host, running) }
  }

  @discardableResult
  func send(_ action: Script.Action) -> SendResult {
    contents.withLock(\.host)?.send(action) ?? .closed
  }

  func end(_ ending: Ending) {
    switch ending {
    case .close: contents.withLock(\.host)?.close()
    case .cancel: contents.withLock(\.running)?.cancel()
    }
  }
}

private final class Counter: Sendable {
  private let state = Mutex<(count: Int, host: ReactorHost<Script>?)>((0, nil))

  var count: Int { state.withLock(\.count) }
  func set(_ host: ReactorHost<Script>) { state.withLock { $0.host = host } }
  func close() { state.withLock(\.host)?.close() }
  func increase() -> Int {
    state.withLock { state in
      state.count += 1
      return state.count
    }
  }
}
