import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

@Suite("Steps of several actions", .timeLimit(.minutes(10)))
struct StepTests {
  private let world = World()
  private let outcomes: TestObserver<String>

  init() { outcomes = world.scheduler.createObserver(String.self) }

  /// Performs a step at a time and records its outcome.
  private func perform(_ time: Int, _ actions: Script.Action..., isWanted: Bool = true) {
    world.scheduler.run(from: time) { [world, outcomes] in
      do {
        try await world.host.perform(actions) { isWanted }
        outcomes.next("done")
      } catch let refusal as StepRefusal {
        outcomes.next("\(refusal.reason) at \(refusal.index)")
      } catch {
        outcomes.next("\(error)")
      }
    }
  }

  private func work(_ name: String, _ policy: EffectPolicy, seconds: Int) -> Script.Action {
    world.clock.steps(name, policy: policy, [(seconds, name)])
  }

  private var states: [Recorded<String>] { world.states.events.filter { $0.time > 0 && $0.time < 1000 } }

  @Test("Each action sees the result of the actions before it, and observers see one new state")
  func order() {
    let reads = Script.Action(description: "reads") { .just("[\($0)]") }
    perform(100, .now("a", "b"), reads)
    world.scheduler.start()
    #expect(states == [.next(100, "a b [a b]")])
    #expect(outcomes.events == [.next(100, "done")])
  }

  @Test("A refused action undoes its step: no mutation, no effect, no cancelled effect")
  func refused() {
    let refusing = Script.Action(description: "refuses") { _ in .failure(Broken()) }
    perform(100, work("old", .latest("lane"), seconds: 20))
    perform(110, .now("a"), work("new", .latest("lane"), seconds: 1), refusing, .now("b"))
    world.scheduler.start()
    #expect(states == [.next(120, "old")])
    #expect(outcomes.elements == ["done", "\(Broken()) at 2"])
    #expect(world.failures.elements == [])
  }

  @Test("A step whose condition is false when its turn comes changes nothing")
  func unwanted() {
    perform(100, .now("a"), isWanted: false)
    world.scheduler.start()
    #expect(states == [] && outcomes.elements == ["StepConditionError()"])
  }

  @Test("The newest effect of a lane wins, within a step and between steps")
  func latest() {
    perform(100, work("a", .latest("lane"), seconds: 1), .now("x"), work("b", .latest("lane"), seconds: 3))
    perform(200, work("c", .latest("lane"), seconds: 10))
    perform(205, .now("y"), work("d", .latest("lane"), seconds: 2))
    world.scheduler.start()
    #expect(states == [.next(100, "x"), .next(103, "x b"), .next(205, "x b y"), .next(207, "x b y d")])
  }

  @Test("The first effect of a lane wins, within a step and between steps")
  func first() {
    perform(100, work("a", .first("lane"), seconds: 5), work("b", .first("lane"), seconds: 1), .now("x"))
    perform(102, work("c", .first("lane"), seconds: 1), .now("y"))
    perform(110, work("d", .first("lane"), seconds: 1))
    world.scheduler.start()
    #expect(states == [.next(100, "x"), .next(102, "x y"), .next(105, "x y a"), .next(111, "x y a d")])
  }

  @Test("The effects of a serial lane run one after another, and a step waits until its lanes are free")
  func serial() {
    perform(100, work("a", .serial("lane"), seconds: 5), work("b", .serial("lane"), seconds: 5))
    perform(101, .now("x"), work("c", .serial("lane"), seconds: 1))
    perform(102, .now("y"))
    world.scheduler.start()
    #expect(
      states == [
        .next(102, "y"), .next(105, "y a"), .next(110, "y a b"), .next(110, "y a b x"), .next(111, "y a b x c"),
      ]
    )
    #expect(outcomes.events == [.next(100, "done"), .next(102, "done"), .next(110, "done")])
  }

  @Test("A step in two serial lanes waits for both, and keeps the order of sending in each")
  func twoSerialLanes() {
    perform(100, work("a", .serial("first"), seconds: 10))
    perform(100, work("b", .serial("second"), seconds: 20))
    perform(101, work("c", .serial("first"), seconds: 1), work("d", .serial("second"), seconds: 1))
    perform(102, work("e", .serial("first"), seconds: 1))
    world.scheduler.start()
    #expect(world.host.currentState.hasPrefix("a b"))
    #expect(states.map(\.time) == [110, 120, 121, 121, 122])
    #expect(world.host.currentState.hasSuffix("e"))
  }

  @Test("If one of several serial effects fails, the failure is reported and the next one runs")
  func serialFailure() {
    let failing = world.clock.steps("failing", policy: .serial("lane"), [], error: Broken())
    perform(100, failing, work("b", .serial("lane"), seconds: 1))
    world.scheduler.start()
    #expect(states == [.next(101, "b")])
    #expect(world.failures.events == [.next(100, "\(Broken()) from action(failing)")])
  }

  @Test("A step counts as one action towards the capacity, until its last effect has ended")
  func capacity() {
    let world = World(capacity: 1)
    let outcomes = world.scheduler.createObserver(String.self)
    for time in [100, 104, 106] {
      world.scheduler.run(from: time) {
        let actions = [1, 5].map { seconds in world.clock.steps("work", [(seconds, "\(seconds)")]) }
        do {
          try await world.host.perform(actions) { true }
          outcomes.next("done")
        } catch {
          outcomes.next("\(error)")
        }
      }
    }
    world.scheduler.start()
    #expect(outcomes.events == [.next(100, "done"), .next(104, "\(AdmissionError.full)"), .next(106, "done")])
  }

  @Test("Closing the host ends waiting steps in all their lanes")
  func close() {
    perform(100, work("a", .serial("first"), seconds: 500), work("b", .serial("second"), seconds: 500))
    perform(101, work("c", .serial("first"), seconds: 1), work("d", .serial("second"), seconds: 1))
    world.scheduler.scheduleAt(110) { [world] in world.host.close() }
    world.scheduler.start()
    #expect(outcomes.events == [.next(100, "done"), .next(110, "\(CancellationError())")])
  }

  @Test("Transforms apply to the actions and the immediate mutations of a step, and each mutation is reduced once")
  func transforms() {
    let scheduler = TestScheduler()
    // A repeated test begins without the record of the run before.
    Doubling.reduced.withLock { $0 = [] }
    let world = World(scheduler, Doubling())
    scheduler.run(from: 100) { try? await world.host.perform([1, -1, 5, 7]) { true } }
    scheduler.start()
    #expect(world.host.currentState == 102)
    #expect(world.states.elements == [0, 102])
    #expect(Doubling.reduced.withLock { $0 } == [2, 100])
  }
}

/// A reactor whose transforms drop negative actions and the mutation 7, double mutations below ten,
/// and hide odd states.
private struct Doubling: Reactor {
  static let reduced = Mutex<[Int]>([])

  var initialState: Int { 0 }

  func mutate(_ action: Int, in state: Int) -> Effect<Int> { .just(action == 5 ? 50 : action) }

  static func reduce(_ state: inout Int, _ mutation: Int) {
    reduced.withLock { $0.append(mutation) }
    state += mutation
  }

  func transform(action: Flow<Int>) -> Flow<Int> { action.filter { $0 >= 0 } }

  func transform(mutation: Flow<Int>) -> Flow<Int> { mutation.compactMap { $0 == 7 ? nil : $0 * 2 } }

  func transform(state: Flow<Int>) -> Flow<Int> { state.filter { $0 % 2 == 0 } }
}
