import LockstepJSON

/// A module whose state belongs to a user and is stored. The server derives its routes, feed,
/// journal, exports and descriptions from this declaration.
///
/// Declare one by `UserModule.list(…)`, `UserModule.map(…)` or `UserModule.object(…)`.
public struct UserModule: Sendable {
  /// What `GET /v1/<module>` shows.
  package enum Shape: Sendable, Equatable {
    /// Elements in the user's order.
    case list
    /// Values by their keys.
    case map
    /// An object with these members, in this order. Each is a key of the map.
    case object(members: [String])
  }

  /// The module's name, which its actions and collections carry.
  public let name: String
  /// What one element and all elements are called in `openapi.json`. If it is missing, the
  /// descriptions use the module's name.
  public var noun: ElementNoun?
  /// Whether the module has the route `POST /v1/<module>/actions`. Default: true. `POST /v1/actions`
  /// takes its actions in any case.
  public var hasActionsRoute = true
  package let shape: Shape
  /// How its collections change.
  package let reducer: CollectionReducer
  /// Whether it has several named collections instead of one that is always there.
  package let hasParts: Bool
  /// Its actions as the catalogue shows them.
  package let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  package let state: JSON
  /// Reads an action of `POST /v1/actions`. Nil if the module has no such type.
  package let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?
  /// The action of each verb. In a module of the shape `object`, `patch` is for the whole object.
  package var verbs: [ElementVerb: DeclaredVerb] = [:]
  /// Whether an element that a store has kept as JSON can be read by this program's own type.
  package var canRead: @Sendable (_ element: [UInt8]) -> Bool = { _ in true }
  /// How much a user may have of it; nil if the reactor itself refuses what is too much.
  package var quota: CollectionQuota?
  /// Where a store keeps it. If it is nil, in a table that modules share.
  package var storage: (any ModuleStorage)?

  /// A module with these actions. `make` turns each into a `UserAction`, with its type and payload for
  /// the journal.
  package init<Action>(
    _ name: String,
    shape: Shape,
    reducer: CollectionReducer,
    hasParts: Bool = false,
    cases: [ActionCase<Action>],
    verbs: [ElementVerb: VerbAction<Action>] = [:],
    element: JSON = [:],
    state: JSON,
    make: @escaping @Sendable (_ type: String, _ payload: JSON, Action) -> UserAction
  ) {
    self.name = name
    self.shape = shape
    self.reducer = reducer
    self.hasParts = hasParts
    self.state = state
    self.verbs = verbs.mapValues { DeclaredVerb($0, among: cases, element: element, make: make) }
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

/// What one element and all elements of a module are called, each with a capital letter: “Favorite”
/// and “Favorites”. `openapi.json` makes the names of operations of them, such as `getFavorite`.
public struct ElementNoun: Sendable {
  /// One element.
  public let one: String
  /// All elements.
  public let many: String

  /// A noun in both forms.
  public init(one: String, many: String) {
    self.one = one
    self.many = many
  }
}

/// How one store keeps a module. Only that store looks inside.
package protocol ModuleStorage: Sendable {}
