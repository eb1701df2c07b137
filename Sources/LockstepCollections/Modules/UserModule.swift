import LockstepJSON

/// A module whose state belongs to a user and is kept: all that the product knows of it, and all else follows from it.
///
/// One of a server's own is declared by `UserModule.list(…)` or `UserModule.map(…)`.
public struct UserModule: Sendable {
  /// Its name, which its actions and collections carry.
  public let name: String
  /// How its collections change.
  package let reducer: CollectionReducer
  /// Whether it has several collections, each with a name of its own, instead of the one that is always there.
  package let hasParts: Bool
  /// Its actions as the catalogue shows them.
  package let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  package let state: JSON
  /// Reads an action as `POST /v1/actions` takes it; nil when the module has no such type.
  package let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?
  /// The action that each verb on an element's address stands for, of a module that has no routes of its own.
  package var verbs: [ElementVerb: DeclaredVerb] = [:]
  /// Whether an element that a store has kept as JSON can be read by this program's own type.
  package var canRead: @Sendable (_ element: [UInt8]) -> Bool = { _ in true }
  /// How much a user may have of it; nil if the reactor itself refuses what is too much.
  package var quota: CollectionQuota?
  /// Where a store keeps it; nil: in a table that modules share. Only stores look inside.
  package var storage: (any ModuleStorage)?

  /// A module with these actions. `make` turns each into a `UserAction`, with its type and payload for
  /// the journal.
  package init<Action>(
    _ name: String,
    reducer: CollectionReducer,
    hasParts: Bool = false,
    cases: [ActionCase<Action>],
    state: JSON,
    make: @escaping @Sendable (_ type: String, _ payload: JSON, Action) -> UserAction
  ) {
    self.name = name
    self.reducer = reducer
    self.hasParts = hasParts
    self.state = state
    actions = cases.catalogue()
    read = { type, payload throws(Refusal) in
      guard let found = cases.first(where: { $0.type == type }) else { return nil }
      // A logged-in user may do this from any network.
      return make(type, payload, try found.read(payload, ClientNetwork(host: "")))
    }
  }

  /// Whether its collections are lists or maps.
  package var kind: CollectionMutation.Kind { reducer.kind }
}

/// How one store keeps a module. It is a store's business what is inside.
package protocol ModuleStorage: Sendable {}
