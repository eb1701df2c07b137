import LockstepReactor

/// A small form, which takes text, validates it and shows the result.
struct Form: Reactor {
  struct State: Sendable, Equatable {
    var name = ""
    var edits = 0
    var isValid = false
  }
  enum Action: Sendable { case rename(String), load }
  enum Mutation: Sendable { case name(String), loaded }

  var initialState: State { State() }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .rename(let name): .just(.name(name))
    case .load: .run { emit in try await emit(.loaded) }
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .name(let name):
      state.name = name
      state.edits += 1
      state.isValid = !name.isEmpty
    case .loaded: state.edits += 1
    }
  }
}

enum StepBenchmark {
  private static let actions: [Form.Action] = ["", "Aurora", "a name of more than fifteen bytes"].map { .rename($0) }

  static func bare() -> (steps: Int, time: Spent) {
    let form = Form()
    var state = form.initialState
    let steps = 3_000_000
    let time = Spent {
      for step in 0..<steps { step1(form, &state, actions[step % 3]) }
    }
    precondition(state.edits == steps)
    return (steps, time)
  }

  /// Not inlined, so that the compiler cannot merge steps.
  @inline(never)
  private static func step1(_ form: Form, _ state: inout Form.State, _ action: Form.Action) {
    guard case .success(let mutations)? = form.mutate(action, in: state).immediateMutations else { return }
    for mutation in mutations { Form.reduce(&state, mutation) }
  }

  static func bursts() -> (steps: Int, time: Spent) {
    send(1_024 * 1_000, atATime: 256)
  }

  static func single() -> (steps: Int, time: Spent) {
    send(500_000, atATime: 1)
  }

  private static func send(_ steps: Int, atATime burst: Int) -> (steps: Int, time: Spent) {
    let executor = SingleCoreExecutor()
    return executor.hosting(Form()) { host in
      let time = Spent {
        for step in 0..<steps {
          host.send(actions[step % 3])
          if step % burst == burst - 1 { executor.drain() }
        }
        executor.drain()
      }
      precondition(host.currentState.edits == steps)
      return (steps, time)
    }
  }

  static func roundTrips() -> (steps: Int, time: Spent) {
    awaitEach(300_000) { host, step in
      _ = try await host.submit(actions[step % 3]).reduced()
    }
  }

  static func effects() -> (steps: Int, time: Spent) {
    awaitEach(100_000) { host, _ in _ = try await host.submit(.load).settled() }
  }

  private static func awaitEach(
    _ steps: Int,
    _ step: @escaping @Sendable (ReactorHost<Form>, Int) async throws -> Void
  ) -> (steps: Int, time: Spent) {
    let executor = SingleCoreExecutor()
    return executor.hosting(Form()) { host in
      let time = Spent {
        _ = Task(executorPreference: executor) { for number in 0..<steps { try await step(host, number) } }
        executor.drain()
      }
      precondition(host.currentState.edits == steps)
      return (steps, time)
    }
  }
}
