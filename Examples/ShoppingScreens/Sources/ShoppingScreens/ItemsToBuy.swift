import Lockstep

/// The names of the items that the user has not bought yet. The screen follows changes from all
/// devices.
struct ItemsToBuy: Reactor {
  struct State: Sendable, Equatable {
    var names: [String]

    static let format = ValueFormat<State>(.member("names", .list(of: .text), \.names))
  }

  /// The screen has no actions.
  enum Action: Sendable {}

  enum Mutation: Sendable {
    case names([String])
  }

  let user: ScreenUser

  var initialState: State { State(names: Self.names(in: user.state)) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {}

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .names(let names): state.names = names
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .names(Self.names(in: $0)) }
  }

  private static func names(in user: UserSnapshot) -> [String] {
    user.list(Shopping.self).filter { !$0.isBought }.map(\.name)
  }
}

extension ScreenDeclaration {
  /// The screen `itemsToBuy`.
  static let itemsToBuy = user(
    "itemsToBuy",
    follows: ["shopping"],
    actions: [],
    state: ItemsToBuy.State.format
  ) { _, user in ItemsToBuy(user: user) }
}
