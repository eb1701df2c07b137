import LockstepReactor

/// A counter that takes half a second for each step and then shows an alert.
struct Counter: Reactor {
  enum Action: Sendable {
    case increase
    case decrease
  }

  enum Mutation: Sendable {
    case loading(Bool)
    case add(Int)
    case alert(String)
  }

  struct State: Sendable, Equatable {
    var value = 0
    var isLoading = false
    @Pulse var alert: String?
  }

  let clock: any Clock<Duration>

  var initialState: State { State() }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .increase: count(by: 1, alert: "increased!")
    case .decrease: count(by: -1, alert: "decreased!")
    }
  }

  private func count(by step: Int, alert: String) -> Effect<Mutation> {
    .concat(
      .just(.loading(true)),
      .run { [clock] emit in
        try await clock.sleep(for: .milliseconds(500))
        try await emit(.add(step))
      },
      .of(.loading(false), .alert(alert))
    )
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .loading(let isLoading): state.isLoading = isLoading
    case .add(let step): state.value += step
    case .alert(let alert): state.alert = alert
    }
  }

  /// A tap during a step waits for its turn.
  func policy(for action: Action) -> EffectPolicy { .serial("count") }
}
