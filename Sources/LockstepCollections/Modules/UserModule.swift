import LockstepJSON

/// A module whose state belongs to a user and is stored. Routes, the feed, the journal and the
/// catalogue follow from it.
///
/// Declare your own modules with `UserModule.list(…)` or `UserModule.map(…)`.
public struct UserModule: Sendable {
  /// The form of the state that `GET /v1/<module>` shows.
  package enum Shape: Sendable, Equatable {
    case list
    case map
    /// An object with these members, in this order. Each is a key of the map.
    case object(members: [String])
  }

  /// The module's name, which is also part of its actions and of its collections' names.
  public let name: String
  /// The names of one element and of all elements in `openapi.json`. If it is missing, the
  /// descriptions use the module's name.
  public var noun: ElementNoun?
  /// Whether the module has the route `POST /v1/<module>/actions`. Default: true.
  /// `POST /v1/actions` accepts its actions in both cases.
  public var hasActionsRoute = true
  package let shape: Shape
  package let reducer: CollectionReducer
  /// Whether the module has several named collections. Otherwise it has exactly one.
  package let hasParts: Bool
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
  /// How a store keeps the module. `nil` for a table that modules share. Only stores use this.
  package var storage: (any ModuleStorage)?

  /// A module with these actions. `make` turns each into a `UserAction`. The type and the payload
  /// are for the journal.
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

  package var kind: CollectionMutation.Kind { reducer.kind }
}

/// The names of one element and of all elements of a module, each with a capital letter: “Favorite”
/// and “Favorites”. The names of operations in `openapi.json`, such as `getFavorite`, contain them.
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
