import LockstepReactor

/// A reactor as a screen runs it: several actions are one step, of which all happen or none, and a step may depend on what
/// is shown at that moment.
///
/// What an action causes at once the next one sees; what takes time begins when all have been decided. The policies of the
/// actions hold for the step: where several name one, the last counts. Actions merged in by the base reactor
/// (`transform(action:)`) aren't known here.
struct BatchReactor<Base: Reactor>: Reactor {
  struct Action: Sendable {
    let actions: [Base.Action]
    /// Whether the step is still wanted, asked at its turn.
    let isWanted: @Sendable () -> Bool
  }

  let base: Base

  var initialState: Base.State { base.initialState }

  func mutate(_ step: Action, in state: Base.State) -> Effect<Base.Mutation> {
    guard step.isWanted() else { return .failure(StepUnwanted()) }
    var state = state
    var mutations: [Base.Mutation] = []
    var afterwards: [(policy: EffectPolicy, effect: Effect<Base.Mutation>)] = []
    for (index, action) in step.actions.enumerated() {
      let (effect, policy) = (base.mutate(action, in: state), base.policy(for: action))
      if let error = effect.errorAtOnce { return .failure(StepRefused(index: index, reason: error)) }
      for mutation in effect.mutationsAtOnce {
        Base.reduce(&state, mutation)
        mutations.append(mutation)
      }
      // The newest wins within a step as it does between steps.
      if case .latest = policy { afterwards.removeAll { $0.policy == policy } }
      if let rest = effect.afterwards { afterwards.append((policy, rest)) }
    }
    return .concat(.of(contentsOf: mutations), afterwards.reduce(.none) { .merge($0, $1.effect) })
  }

  static func reduce(_ state: inout Base.State, _ mutation: Base.Mutation) { Base.reduce(&state, mutation) }

  func policy(for step: Action) -> EffectPolicy {
    step.actions.lazy.map { base.policy(for: $0) }.last { $0 != .all } ?? .all
  }

  func transform(mutation: Flow<Base.Mutation>) -> Flow<Base.Mutation> { base.transform(mutation: mutation) }
  func transform(state: Flow<Base.State>) -> Flow<Base.State> { base.transform(state: state) }
}

/// An action was refused, and with it the step that it was part of.
package struct StepRefused: Error {
  /// Which of the step's actions.
  package let index: Int
  package let reason: any Error
}

/// What was to hold at a step's turn doesn't.
package struct StepUnwanted: Error {}
