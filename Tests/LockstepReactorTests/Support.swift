import LockstepReactor
import LockstepReactorTesting
import Synchronization

struct Broken: Error, Equatable {
  var name = "broken"
}

/// A reactor whose actions determine their effects, and whose state lists the reduced mutations.
struct Script: Reactor {
  struct Action: Sendable, CustomStringConvertible {
    let description: String
    var policy = EffectPolicy.all
    let effect: @Sendable (_ state: String) -> Effect<String>

    /// An action with immediate mutations.
    static func now(_ mutations: String...) -> Action {
      Action(description: "now") { _ in .of(contentsOf: mutations) }
    }
  }

  let clock: VirtualClock
  var initialState: String { "" }

  func mutate(_ action: Action, in state: String) -> Effect<String> {
    action.effect(state)
  }

  static func reduce(_ state: inout String, _ mutation: String) {
    state += state.isEmpty ? mutation : " " + mutation
  }

  func policy(for action: Action) -> EffectPolicy { action.policy }
}

extension VirtualClock {
  /// An action that emits each mutation this many seconds after the one before, and then ends or
  /// fails.
  func steps(
    _ name: String,
    policy: EffectPolicy = .all,
    _ steps: [(after: Int, mutation: String)],
    error: Broken? = nil
  ) -> Script.Action {
    Script.Action(description: name, policy: policy) { _ in
      .run { emit in
        for step in steps {
          try await self.sleep(for: .seconds(step.after))
          try await emit(step.mutation)
        }
        if let error { throw error }
      }
    }
  }
}

/// Makes tasks wait until it opens. Cancellation does not open it.
final class Gate: Sendable {
  private let waiting = Mutex<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = waiting.withLock { waiting in
        if !waiting.isOpen { waiting.waiters.append(continuation) }
        return waiting.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  func open() {
    let waiters = waiting.withLock { waiting in
      defer { waiting = (true, []) }
      return waiting.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}

/// A host in virtual time, which runs from time 0.
struct World<R: Reactor> {
  let scheduler: TestScheduler
  let host: ReactorHost<R>
  /// The states, recorded from time 0.
  let states: TestObserver<R.State>
  /// The failures, recorded from time 0.
  let failures: TestObserver<String>

  init(_ scheduler: TestScheduler, _ reactor: R, capacity: Int = 1024, until: Int? = TestScheduler.disposed) {
    self.scheduler = scheduler
    let host = ReactorHost(reactor, capacity: capacity)
    self.host = host
    scheduler.run(from: 0, until: until) { await host.run() }
    states = scheduler.observe(host.states, from: 0, until: until)
    let failures = scheduler.createObserver(String.self)
    self.failures = failures
    let stream = host.failures()
    scheduler.run(until: until) {
      for await failure in stream.ignoringLosses { failures.next("\(failure.error) from \(failure.origin)") }
    }
  }

  func send(_ time: Int, _ actions: R.Action...) {
    scheduler.scheduleAt(time) { [host] in
      for action in actions { host.send(action) }
    }
  }
}

extension World where R == Script {
  init(capacity: Int = 1024) {
    let scheduler = TestScheduler()
    self.init(scheduler, Script(clock: scheduler.clock), capacity: capacity)
  }

  var clock: VirtualClock { scheduler.clock }
}
