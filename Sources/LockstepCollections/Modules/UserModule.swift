import LockstepJSON

/// A module whose state belongs to a user and is stored. Routes, the feed, the journal and the
/// catalogue follow from it.
///
/// Declare your own modules with `UserModule.list(…)` or `UserModule.map(…)`.
public struct UserModule: Sendable {
  /// The name. Actions and collections carry it.
  public let name: String
  /// Applies mutations to the module's collections.
  package let reducer: CollectionReducer
  /// Whether the module has several named collections. Otherwise it has exactly one.
  package let hasParts: Bool
  /// The catalogue's entries for its actions.
  package let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  package let state: JSON
  /// Reads an action from `POST /v1/actions`. Returns `nil` if the module has no such type.
  package let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?
  /// The action of each verb on an element's address. Empty if the module has routes of its own.
  package var verbs: [ElementVerb: DeclaredVerb] = [:]
  /// Whether the element type of this program can read an element that is stored as JSON.
  package var canRead: @Sendable (_ element: [UInt8]) -> Bool = { _ in true }
  /// The largest size of a collection for one user. `nil` if the reactor itself checks the size.
  package var quota: CollectionQuota?
  /// How a store keeps the module. `nil`: in a table that modules share. Only stores use it.
  package var storage: (any ModuleStorage)?

  /// A module with these actions. `make` turns each into a `UserAction`. The type and the payload
  /// are for the journal.
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

/// How one kind of store keeps a module. Each kind of store defines its own.
package protocol ModuleStorage: Sendable {}
