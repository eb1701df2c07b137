/// Where actions become mutations, and mutations become state.
///
///     Action ──mutate──▶ Mutation ──reduce──▶ State
///
/// `mutate` decides: it may look at the state, ask services, take time and fail. `reduce` applies:
/// it is pure and total, so a journal of mutations rebuilds any state. A reactor itself holds no
/// state and no task; a ``ReactorHost`` runs it, and so can anybody who calls the two functions.
public protocol Reactor: Sendable {
  /// What somebody asks for.
  associatedtype Action: Sendable
  /// What did happen: a fact, enough on its own to rebuild the state.
  associatedtype Mutation: Sendable
  /// What observers see.
  associatedtype State: Sendable & Equatable

  /// The state before any mutation.
  var initialState: State { get }

  /// Turns an action into what it causes.
  ///
  /// Called by one loop, one action at a time; `state` is the state at this very moment and cannot
  /// change before the effect's immediate mutations are reduced. Must not block: what takes time
  /// belongs into ``Effect/run(_:)``.
  func mutate(_ action: Action, in state: State) -> Effect<Mutation>

  /// Applies one fact. Pure: the same state and mutation give the same state, anywhere, always.
  static func reduce(_ state: inout State, _ mutation: Mutation)

  /// What to do when an action comes while effects of earlier ones still run. Default: run all.
  func policy(for action: Action) -> EffectPolicy

  /// The place to filter or change actions, and to merge in actions from elsewhere.
  ///
  /// The three transforms are called once, when a host is made. Default: the flow as it is.
  func transform(action: Flow<Action>) -> Flow<Action>

  /// The place to merge in facts from elsewhere, such as a service's events.
  func transform(mutation: Flow<Mutation>) -> Flow<Mutation>

  /// The place to shape what observers see. It never changes what `mutate` and `reduce` are given.
  func transform(state: Flow<State>) -> Flow<State>
}

extension Reactor where Mutation == Action {
  /// When every action is itself a fact, there is nothing to decide.
  public func mutate(_ action: Action, in state: State) -> Effect<Mutation> { .just(action) }
}

extension Reactor {
  /// Runs every effect.
  public func policy(for action: Action) -> EffectPolicy { .all }
  /// Leaves the actions as they are.
  public func transform(action: Flow<Action>) -> Flow<Action> { action }
  /// Leaves the mutations as they are.
  public func transform(mutation: Flow<Mutation>) -> Flow<Mutation> { mutation }
  /// Leaves the states as they are.
  public func transform(state: Flow<State>) -> Flow<State> { state }

  /// The state that `mutations` lead to from `state`, without a host: replay, history, recovery.
  public static func replay(_ mutations: some Sequence<Mutation>, from state: State) -> State {
    var state = state
    for mutation in mutations { reduce(&state, mutation) }
    return state
  }
}
