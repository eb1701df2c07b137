import LockstepReactor
import LockstepReactorTesting
import Testing

private struct Shop: Reactor {
  struct State: Sendable, Equatable {
    var count = 0
    var name = "shop"
    var items: [String] = []
    var isLoading = false
  }
  enum Action: Sendable { case add(String), load, save, fail, double, nothing }
  enum Mutation: Sendable { case append(String), count(Int), loading(Bool) }

  let clock: VirtualClock
  var initialState: State { State() }

  func policy(for action: Action) -> EffectPolicy {
    if case .save = action { return .first("save") }
    return .all
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .add(let item): return .of(.append(item), .count(state.count + 1))
    case .double: return .just(.count(state.count * 2))
    case .fail: return .failure(Broken())
    case .nothing: return .none
    case .load, .save:
      return .concat(
        .just(.loading(true)),
        .run { [clock] emit in
          try await clock.sleep(for: .seconds(5))
          try await emit(.append("loaded"))
        },
        .just(.loading(false))
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .append(let item): state.items.append(item)
    case .count(let count): state.count = count
    case .loading(let isLoading): state.isLoading = isLoading
    }
  }
}

@Suite("Test reactor", .timeLimit(.minutes(10)))
struct TestReactorTests {
  private let log = FailureLog()

  private func makeTest() -> TestReactor<Shop> {
    let clock = VirtualClock()
    return TestReactor(Shop(clock: clock), clock: clock, failures: log.reporter)
  }

  @Test("A test that asserts every state in order passes")
  func passes() {
    let test = makeTest()
    test.send(.add("a"), { $0.items = ["a"] }, { $0.count = 1 })
    test.send(.nothing)
    test.send(.load) { $0.isLoading = true }
    test.advance(by: .seconds(5))
    test.receive({ $0.items = ["a", "loaded"] }, { $0.isLoading = false })
    test.send(.fail)
    test.receiveFailure { $0 is Broken }
    test.finish()
    #expect(log.texts == [])
  }

  @Test("A state that differs from the asserted one is shown by its differences")
  func wrongState() {
    let test = makeTest()
    test.send(.add("a"), { $0.items = ["b", "c"] }, { $0.count = 1 })
    test.finish()
    #expect(
      log.texts == [
        """
        State 1 of 2 after send(add("a")) is not as asserted:

            − items[0]: "b"
            + items[0]: "a"
            − items[1]: "c"

        (− expected, + actual) Correct the assertion, or the reduce function.
        """
      ]
    )
  }

  @Test("A state that was asserted and did not occur is reported")
  func noState() {
    let test = makeTest()
    test.send(.load, { $0.isLoading = true }, { $0.items = ["loaded"] })
    test.advance(by: .seconds(5))
    test.skipStates()
    test.finish()
    #expect(
      log.texts == [
        """
        State 2 of 2 after send(load) did not come. Expected:

            − items[0]: "loaded"
            + items: []

        (− expected, + current) Nothing has changed since the last asserted state. If time must pass first, \
        call advance(by:); if nothing should change, remove the assertion.
        """
      ]
    )
  }

  @Test("An assertion that does not change the state is reported")
  func noChange() {
    let test = makeTest()
    test.send(.nothing) { $0.count = 0 }
    test.receive { _ in }
    test.finish()
    let advice = """
      The closure changes nothing, and a host never shows a state that equals the one before. Remove the \
      closure: the test reactor checks anyway that no other state comes.
      """
    #expect(
      log.texts == [
        "State 1 of 1 after send(nothing) did not come.\n\n" + advice,
        "State 1 of 1 of receive() did not come.\n\n" + advice,
      ]
    )
  }

  @Test("A state that occurred where another or none was asserted is shown in full")
  func noChangeButAState() {
    let test = makeTest()
    test.send(.add("a"), { $0.count = 0 }, { $0.count = 1 })
    test.finish()
    #expect(
      log.texts == [
        """
        State 1 of 2 after send(add("a")) is not as asserted:

            − items: []
            + items[0]: "a"

        (− expected, + actual) Correct the assertion, or the reduce function.
        """
      ]
    )
  }

  @Test("An ignored action can be asserted; otherwise it is reported")
  func ignoredAction() {
    let test = makeTest()
    test.send(.save) { $0.isLoading = true }
    test.send(.save)
    test.receiveIgnored()
    #expect(log.texts == [])
    test.send(.save)
    test.advance(by: .seconds(5))
    test.receive({ $0.items = ["loaded"] }, { $0.isLoading = false })
    test.finish()
    #expect(
      log.texts == [
        """
        1 action was ignored, and that was not asserted before finish():

            save

        Another effect of its lane runs, or transform(action:) drops the action. Assert it with receiveIgnored(), or \
        do not send it.
        """
      ]
    )
  }

  @Test("A wrong assertion about an ignored action is reported")
  func notIgnored() {
    let test = makeTest()
    test.send(.nothing)
    test.receiveIgnored("nothing")
    test.send(.save) { $0.isLoading = true }
    test.send(.save)
    test.receiveIgnored("a load") { if case .load = $0 { true } else { false } }
    test.finish(running: 1)
    #expect(
      log.texts == [
        """
        Expected nothing to be ignored, but no action was ignored.

        Correct the assertion, or the policy of the action.
        """,
        """
        Expected a load to be ignored, but another action was:

            save

        Correct the assertion, or the policy of the action.
        """,
      ]
    )
  }

  @Test("States without an assertion are reported at the next `send`")
  func unassertedStates() {
    let test = makeTest()
    test.send(.add("a"))
    test.send(.nothing)
    test.finish()
    #expect(
      log.texts == [
        """
        2 states were not asserted before send(nothing):

            − items: []
            + items[0]: "a"

            − count: 0
            + count: 1

        (− before, + after) Assert each with a closure of send(_:_:) or receive(_:), or skip them with skipStates().
        """
      ]
    )
  }

  @Test("An error without an assertion is reported at the end")
  func unassertedFailure() {
    let test = makeTest()
    test.send(.fail)
    test.finish()
    #expect(
      log.texts == [
        """
        1 error was not asserted before finish():

            Broken(), from fail

        Assert each with receiveFailure(), or handle it in the effect and make it a mutation.
        """
      ]
    )
  }

  @Test("An asserted error that does not occur, or is another one, is reported")
  func wrongFailure() {
    let test = makeTest()
    test.receiveFailure("a broken pipe")
    test.send(.fail)
    test.receiveFailure("a broken pipe") { _ in false }
    test.finish()
    #expect(
      log.texts == [
        """
        Expected a broken pipe, but none was reported.

        If time must pass first, call advance(by:). An error that an effect catches itself is not reported.
        """,
        """
        Expected a broken pipe, but another error was reported:

            Broken(), from fail

        Correct the assertion, or what the effect throws.
        """,
      ]
    )
  }

  @Test("An effect that is still running at the end is reported")
  func runningEffect() {
    let test = makeTest()
    test.send(.load) { $0.isLoading = true }
    test.finish()
    #expect(
      log.texts == [
        """
        1 effect is still running at finish():

            load

        Let them end with advance(by:), cancel them with an action, or expect them with \
        finish(running: 1).
        """
      ]
    )
  }

  @Test("`finish(running:)` reports a wrong number of running effects")
  func meantToGoOn() {
    let going = makeTest()
    going.send(.load) { $0.isLoading = true }
    going.finish(running: 1)
    #expect(log.texts == [])
    makeTest().finish(running: 2)
    #expect(
      log.texts == [
        """
        Expected 2 running effects at finish(), but there are 0.

        An effect that should still run has ended. Correct finish(running:), or the effect.
        """
      ]
    )
  }

  @Test("A test that does not call `finish()` is checked when it releases the reactor")
  func forgottenFinish() {
    do {
      let test = makeTest()
      test.send(.double)
      test.send(.add("a"), { $0.items = ["a"] })
    }
    #expect(
      log.texts == [
        """
        1 state was not asserted before the end of the test:

            − count: 0
            + count: 1

        (− before, + after) Assert each with a closure of send(_:_:) or receive(_:), or skip them with skipStates().
        """
      ]
    )
  }

  @Test("An action that the reactor refuses because too many are pending is reported")
  func refused() {
    let test = makeTest()
    test.send(.load) { $0.isLoading = true }
    for _ in 2...1_024 { test.send(.load) }
    test.send(.nothing)
    test.advance(by: .seconds(5))
    test.skipStates()
    test.finish()
    #expect(
      log.texts == [
        """
        send(nothing) was refused: too many actions wait or have a running effect.

        Let effects end with advance(by:) before sending more.
        """
      ]
    )
  }
}

@Suite("Stub reactor", .timeLimit(.minutes(10)))
struct StubReactorTests {
  /// Does what a view does: it shows states and sends actions.
  private func show<Model: ViewModel<String, Int>>(_ model: Model, on observer: TestObserver<String>) async {
    for await state in model.states {
      observer.next("shows \(state)")
      if state == 3 { model.send("three!") }
    }
  }

  @Test("The stub shows any state and records the actions, so a view can be tested alone")
  func view() {
    let scheduler = TestScheduler()
    let stub = StubReactor<String, Int>(state: 1)
    let observer = scheduler.createObserver(String.self)
    scheduler.run { await self.show(stub, on: observer) }
    scheduler.scheduleAt(100) { stub.show(3) }
    scheduler.scheduleAt(200) { stub.show(3) }
    scheduler.start()
    #expect(observer.events == [.next(0, "shows 1"), .next(100, "shows 3")])
    #expect(stub.actions == ["three!"])
    #expect(stub.currentState == 3)
  }

  @Test("A stub can refuse actions as a full host does")
  func refusal() {
    let stub = StubReactor<String, Int>(state: 1)
    stub.sendResult = .full
    #expect(stub.send("a") == .full)
    #expect(stub.actions == ["a"])
  }
}
