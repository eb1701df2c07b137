/// Turns actions into mutations, and applies mutations to a state.
///
///     Action ──mutate──▶ Mutation ──reduce──▶ State
///
/// `mutate` decides: it may read the state, fail, or return work that takes time. `reduce` applies:
/// it is pure and total, so a journal of mutations rebuilds any state. A reactor holds no state and
/// no task. A ``ReactorHost`` runs it; a server may call `mutate` and `reduce` itself.
public protocol Reactor: Sendable {
  /// A request of a client or a view.
  associatedtype Action: Sendable
  /// A change of the state. The mutations alone are enough to rebuild the state.
  associatedtype Mutation: Sendable
  /// The state that observers see.
  associatedtype State: Sendable & Equatable

  /// The state before any mutation.
  var initialState: State { get }

  /// Decides the effect of an action.
  ///
  /// The host calls it from one loop, one action at a time. `state` cannot change before the
  /// effect's immediate mutations are reduced. `mutate` must not block: use ``Effect/run(_:)``.
  func mutate(_ action: Action, in state: State) -> Effect<Mutation>

  /// Applies one mutation. Pure: the same state and mutation always give the same state.
  static func reduce(_ state: inout State, _ mutation: Mutation)

  /// The policy for an action that comes while effects of earlier actions run. Default: run all.
  func policy(for action: Action) -> EffectPolicy

  /// Filters or changes actions, and merges in actions from other sources.
  ///
  /// A new host calls the three `transform` functions once. Default: the flow unchanged.
  func transform(action: Flow<Action>) -> Flow<Action>

  /// Filters or changes mutations, and merges in mutations from other sources, such as events.
  func transform(mutation: Flow<Mutation>) -> Flow<Mutation>

  /// Filters or changes the states that observers see. `mutate` and `reduce` get the real state.
  func transform(state: Flow<State>) -> Flow<State>
}

extension Reactor where Mutation == Action {
  /// Every action is its own mutation.
  public func mutate(_ action: Action, in state: State) -> Effect<Mutation> { .just(action) }
}

extension Reactor {
  /// Runs every effect.
  public func policy(for action: Action) -> EffectPolicy { .all }
  /// Returns the flow unchanged.
  public func transform(action: Flow<Action>) -> Flow<Action> { action }
  /// Returns the flow unchanged.
  public func transform(mutation: Flow<Mutation>) -> Flow<Mutation> { mutation }
  /// Returns the flow unchanged.
  public func transform(state: Flow<State>) -> Flow<State> { state }

  /// Applies `mutations` to `state` without a host: for replay, history and recovery.
  public static func replay(_ mutations: some Sequence<Mutation>, from state: State) -> State {
    var state = state
    for mutation in mutations { reduce(&state, mutation) }
    return state
  }
}
