import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepCollections
@testable import LockstepScreens

@Suite("Several actions as one step")
struct StagedReactorTests {
  /// Counts: `add` at once, `later` after so many seconds, of which the newest wins; more than ten is refused.
  private struct Counter: Reactor {
    enum Action: Sendable {
      case add(Int)
      case later(Int)
    }

    struct TooMany: Error {}

    let clock: VirtualClock
    var initialState: Int { 0 }

    func mutate(_ action: Action, in state: Int) -> Effect<Int> {
      switch action {
      case .add(let number): state + number > 10 ? .failure(TooMany()) : .just(number)
      case .later(let seconds):
        .run { [clock] emit in
          try await clock.sleep(for: .seconds(seconds))
          try await emit(seconds)
        }
      }
    }

    func policy(for action: Action) -> EffectPolicy {
      if case .later = action { .latest("later") } else { .all }
    }

    static func reduce(_ state: inout Int, _ mutation: Int) { state += mutation }
  }

  private func world() -> TestReactor<BatchReactor<Counter>> {
    let clock = VirtualClock()
    return TestReactor(BatchReactor(base: Counter(clock: clock)), clock: clock)
  }

  private func step(_ actions: Counter.Action..., isWanted: Bool = true) -> BatchReactor<Counter>.Action {
    .init(actions: actions) { isWanted }
  }

  @Test("Each action sees what those before it did")
  func order() {
    let test = world()
    test.send(step(.add(1), .add(9)), { $0 = 1 }, { $0 = 10 })
    test.finish()
  }

  @Test("Of a step with an action that is refused nothing happens, and the error says which")
  func refused() {
    let test = world()
    test.send(step(.later(1), .add(4), .add(7), .add(1)))
    test.receiveFailure("the third") { ($0 as? StepRefused)?.index == 2 }
    test.advance(by: .seconds(9))
    test.finish()
  }

  @Test("A step that isn't wanted any more at its turn does nothing")
  func unwanted() {
    let test = world()
    test.send(step(.add(1), isWanted: false))
    test.receiveFailure("not wanted") { $0 is StepUnwanted }
    test.finish()
  }

  @Test("The newest work of a lane wins, within a step and between steps")
  func newest() {
    let test = world()
    test.send(step(.later(1), .add(1), .later(3))) { $0 = 1 }
    test.advance(by: .seconds(3))
    test.receive { $0 = 4 }
    test.send(step(.later(1)))
    test.send(step(.add(1), .later(2))) { $0 = 5 }
    test.advance(by: .seconds(2))
    test.receive { $0 = 7 }
    test.finish()
  }
}
