/// Decides on the actions of a module whose state is a list or a map, and applies the mutations.
///
///     struct NotesReactor: ModuleReactor {
///       func mutate(_ action: NotesAction, in notes: ListState) throws(Refusal) -> [ListMutation] { … }
///     }
///
/// `mutate` runs in the transaction that writes its mutations, while all other writes wait. So it
/// must be fast, have no side effects and read no clock. `ActionContext.now` is the time.
public protocol ModuleReactor<Action>: Sendable {
  /// The actions that clients can request.
  associatedtype Action: Sendable
  /// `ListState` or `MapState`.
  associatedtype State: Sendable
  /// `ListMutation` or `MapMutation`.
  associatedtype Mutation: Sendable

  /// Returns the mutations in order, or an empty array if the action changes nothing. Throws a
  /// refusal to decline the action. Then the whole transaction changes nothing.
  func mutate(_ action: Action, in state: State) throws(Refusal) -> [Mutation]

  /// Applies a mutation. Default: `state.apply(mutation)`.
  ///
  /// It must be a pure function that accepts any mutation in any state, because the server also
  /// uses it to rebuild past states from the journal.
  static func reduce(_ state: inout State, _ mutation: Mutation)
}

extension ModuleReactor {
  /// Decides on an action and applies the mutations, as the server does. For tests.
  public func perform(_ action: Action, on state: inout State) throws(Refusal) -> [Mutation] {
    let mutations = try mutate(action, in: state)
    for mutation in mutations { Self.reduce(&state, mutation) }
    return mutations
  }
}

extension ModuleReactor where State == ListState, Mutation == ListMutation {
  /// Applies the mutation to the list.
  public static func reduce(_ state: inout ListState, _ mutation: ListMutation) { state.apply(mutation) }
}

extension ModuleReactor where State == MapState, Mutation == MapMutation {
  /// Applies the mutation to the map.
  public static func reduce(_ state: inout MapState, _ mutation: MapMutation) { state.apply(mutation) }
}
