import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Effect policies", .timeLimit(.minutes(10)))
struct EffectPolicyTests {
  let world = World()
  var clock: VirtualClock { world.clock }

  /// Sends actions at 100, 110 and 120. Each one emits after 15 seconds and after 15 more.
  private func sendThree(_ policy: EffectPolicy) {
    for (time, name) in [(100, "a"), (110, "b"), (120, "c")] {
      world.send(time, clock.steps(name, policy: policy, [(15, name + "1"), (15, name + "2")]))
    }
    world.scheduler.start()
  }

  @Test("`all`: every effect runs in parallel with the others")
  func all() {
    sendThree(.all)
    #expect(
      world.states.events == [
        .next(0, ""), .next(115, "a1"), .next(125, "a1 b1"), .next(130, "a1 b1 a2"), .next(135, "a1 b1 a2 c1"),
        .next(140, "a1 b1 a2 c1 b2"), .next(150, "a1 b1 a2 c1 b2 c2"), .completed(1000),
      ]
    )
  }

  @Test("Lanes are compared by bytes, because their names may contain ids")
  func namesOfLanes() {
    let (first, other) = (Lane("jos\u{E9}"), Lane("jose\u{301}"))
    #expect(first == first && first != other && Set([first, other, first]).count == 2)
  }

  @Test("`latest`: the newest effect cancels the previous one")
  func latest() {
    sendThree(.latest("search"))
    #expect(
      world.states.events == [.next(0, ""), .next(135, "c1"), .next(150, "c1 c2"), .completed(1000)]
    )
    #expect(world.failures.events == [])
  }

  @Test("`first`: an action is ignored while an effect runs")
  func first() {
    sendThree(.first("submit"))
    world.scheduler.advance(to: 1000)
    #expect(
      world.states.events == [.next(0, ""), .next(115, "a1"), .next(130, "a1 a2"), .completed(1000)]
    )
  }

  @Test("A lane with a computed name is separate from lanes with other names")
  func computedLanes() {
    for (time, name, photo) in [(100, "a", 1), (110, "b", 2), (120, "c", 1)] {
      let policy = EffectPolicy.first(Lane("photo \(photo)"))
      world.send(time, clock.steps(name, policy: policy, [(15, name + "1"), (15, name + "2")]))
    }
    world.scheduler.start()
    #expect(
      world.states.events == [
        .next(0, ""), .next(115, "a1"), .next(125, "a1 b1"), .next(130, "a1 b1 a2"), .next(140, "a1 b1 a2 b2"),
        .completed(1000),
      ]
    )
  }

  @Test("`serial`: effects run one after another, in the order of sending")
  func serial() {
    sendThree(.serial("queue"))
    #expect(
      world.states.events == [
        .next(0, ""), .next(115, "a1"), .next(130, "a1 a2"), .next(145, "a1 a2 b1"), .next(160, "a1 a2 b1 b2"),
        .next(175, "a1 a2 b1 b2 c1"), .next(190, "a1 a2 b1 b2 c1 c2"), .completed(1000),
      ]
    )
  }

  @Test("After the first effect has ended, the next one runs")
  func firstAgain() {
    world.send(100, clock.steps("a", policy: .first("x"), [(10, "a")]))
    world.send(110, clock.steps("b", policy: .first("x"), [(10, "b")]))
    world.send(111, clock.steps("c", policy: .first("x"), [(10, "c")]))
    world.scheduler.start()
    #expect(world.host.currentState == "a c")
  }

  @Test("A serial action decides on the state at the time of its turn")
  func serialSeesTheStateOfItsTurn() {
    let look = Script.Action(description: "look", policy: .serial("x")) { .just("saw(\($0))") }
    world.send(100, clock.steps("a", policy: .serial("x"), [(10, "a")]), look)
    world.scheduler.start()
    #expect(world.host.currentState == "a saw(a)")
  }

  @Test(
    "If an effect is cancelled after it emits a mutation and before the mutation is reduced, the mutation is dropped"
  )
  func nothingOfTheCancelledIsReduced() {
    // The old effect sends the new action and then emits. The host receives both, in this order.
    let host = world.host
    let new = clock.steps("new", policy: .latest("x"), [(10, "new")])
    let old = Script.Action(description: "old", policy: .latest("x")) { _ in
      .run { emit in
        host.send(new)
        try await emit("old")
      }
    }
    world.send(100, old)
    world.scheduler.start()
    #expect(world.states.events == [.next(0, ""), .next(110, "new"), .completed(1000)])
    #expect(world.failures.events == [])
  }

  @Test("Lanes are independent of each other")
  func lanes() {
    world.send(100, clock.steps("a", policy: .latest("one"), [(20, "a")]))
    world.send(110, clock.steps("b", policy: .latest("two"), [(20, "b")]))
    world.scheduler.start()
    #expect(world.host.currentState == "a b")
  }

  @Test("A `latest` action without an effect cancels the running effect of its lane")
  func cancelAction() {
    world.send(100, clock.steps("a", policy: .latest("x"), [(20, "a")]))
    world.send(110, Script.Action(description: "cancel", policy: .latest("x")) { _ in .none })
    world.scheduler.start()
    #expect(world.host.currentState == "")
    #expect(world.failures.events == [])
  }

  @Test("After a failed effect, the next one of its lane runs")
  func serialAfterFailure() {
    world.send(
      100,
      clock.steps("a", policy: .serial("x"), [(10, "a")], error: Broken()),
      clock.steps("b", policy: .serial("x"), [(10, "b")])
    )
    world.scheduler.start()
    #expect(world.host.currentState == "a b")
    #expect(world.failures.events == [.next(110, #"Broken(name: "broken") from action(a)"#)])
  }

  @Test("A cancelled effect that ignores cancellation cannot change the state")
  func deafEffect() {
    let deaf = Script.Action(description: "deaf", policy: .latest("x")) { [clock] _ in
      .run { emit in
        for number in 1...3 {
          try? await clock.sleep(for: .seconds(10))
          try? await emit("deaf\(number)")
        }
      }
    }
    world.send(100, deaf)
    world.send(115, clock.steps("new", policy: .latest("x"), [(10, "new")]))
    world.scheduler.start()
    #expect(world.states.events == [.next(0, ""), .next(110, "deaf1"), .next(125, "deaf1 new"), .completed(1000)])
  }

  @Test("A serial action also waits for a cancelled effect that has not ended")
  func serialWaitsForUnwinding() {
    let log = world.scheduler.createObserver(String.self)
    let gate = Gate()
    world.send(100, unwinding(log, gate))
    world.send(110, cancelling)
    world.send(120, clock.steps("b", policy: .serial("x"), [(10, "b")]))
    world.scheduler.scheduleAt(200) { gate.open() }
    world.scheduler.start()
    #expect(log.events == [.next(200, "unwound")])
    #expect(world.states.events == [.next(0, ""), .next(210, "b"), .completed(1000)])
  }

  @Test("A `first` action does not wait for a cancelled effect that has not ended")
  func firstAfterCancellation() {
    let log = world.scheduler.createObserver(String.self)
    let gate = Gate()
    world.send(100, unwinding(log, gate))
    world.send(110, cancelling)
    world.send(120, clock.steps("b", policy: .first("x"), [(10, "b")]))
    world.scheduler.scheduleAt(200) { gate.open() }
    world.scheduler.start()
    #expect(world.states.events == [.next(0, ""), .next(130, "b"), .completed(1000)])
  }

  /// An effect that does not end before the gate opens, cancelled or not.
  private func unwinding(_ log: TestObserver<String>, _ gate: Gate) -> Script.Action {
    Script.Action(description: "unwinding", policy: .latest("x")) { _ in
      .run { _ in
        await gate.wait()
        log.next("unwound")
      }
    }
  }

  private var cancelling: Script.Action {
    Script.Action(description: "cancel", policy: .latest("x")) { _ in .none }
  }

  @Test("Actions that wait in a serial lane count towards the capacity")
  func serialIsBounded() {
    let world = World(capacity: 2)
    let admissions = world.scheduler.createObserver(SendResult.self)
    let work = world.clock.steps("work", policy: .serial("x"), [(10, "done")])
    world.scheduler.scheduleAt(100) { [host = world.host] in
      for _ in 1...3 { admissions.next(host.send(work)) }
    }
    world.scheduler.start()
    #expect(admissions.elements == [.accepted, .accepted, .full])
    #expect(world.host.currentState == "done done")
  }
}
