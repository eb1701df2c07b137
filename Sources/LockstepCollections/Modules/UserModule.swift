import LockstepJSON

/// A module whose state belongs to a user and is stored. From this declaration the server makes the
/// module's routes and its entries in the feed, the journal and the catalogue.
///
/// Declare your own modules with `UserModule.list(…)` or `UserModule.map(…)`.
public struct UserModule: Sendable {
  /// The form of the state that `GET /v1/<module>` shows.
  package enum Shape: Sendable, Equatable {
    case list
    case map
    /// An object with these members, in this order. Each member is a key of the map.
    case object(members: [String])
  }

  /// The module's name, which is also part of its actions and of its collections' names.
  public let name: String
  /// The names of one element and of all elements, for `openapi.json`. If this is nil, the module's
  /// name is used.
  public var noun: ElementNoun?
  /// Whether the module has the route `POST /v1/<module>/actions`. Default: true. Also without it,
  /// `POST /v1/actions` accepts the module's actions.
  public var hasActionsRoute = true
  /// A sentence about the module, for the catalogue.
  package var description: String?
  /// Whether only the administrator and service tokens may write.
  package var isReadOnly = false
  /// Whether all writes are refused, because a declared collection is being deleted or gets another
  /// kind.
  package var isClosing = false
  /// The version of the declaration. Nil for a module in code, which never changes.
  package var version: DeclaredVersion?
  package let shape: Shape
  package let reducer: CollectionReducer
  /// Whether the module has several named collections. Otherwise it has exactly one.
  package let hasParts: Bool
  package let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  package let state: JSON
  /// The schema of a state that was written by the present declaration, for the types of clients.
  /// If nil, it is `state`. Data that was stored before the schema of a declared collection changed
  /// may differ.
  package var writtenState: JSON?
  /// A phrase about a mistake in the declaration, such as a member that its elements have twice.
  package internal(set) var mistake: String?
  private let reading: @Sendable (_ type: String, _ payload: JSON, WorkBudget?) throws(Refusal) -> UserAction?
  /// The action of each verb of the generated routes. Empty if the module has none.
  package var verbs: [ElementVerb: DeclaredVerb] = [:]
  /// Whether the module's element type can read this stored element, which is JSON. `nil` if the
  /// elements can have any form.
  package var canRead: (@Sendable (_ element: [UInt8]) -> Bool)?
  /// The values of members that older elements may lack.
  package internal(set) var defaults = JSONObject()
  /// The largest size of a collection for one user. `nil` if the reactor itself checks the size.
  package var quota: CollectionQuota?

  /// A module with these actions. `make` turns an action into a `UserAction`. It also gets the type
  /// and the payload of the action, for the journal.
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
    mistake = (cases + ElementVerb.allCases.compactMap { verbs[$0]?.own }).repeatedPayloadMember()
      .map { "the payload of its action “\($0.type)” has the member “\($0.pointer)” twice." }
    reading = { type, payload, budget throws(Refusal) in
      guard let found = cases.first(where: { $0.type.hasSameBytes(as: type) }) else { return nil }
      // Only a login needs the client's network.
      return make(type, payload, try found.read(payload, ClientNetwork(host: ""), budget))
    }
  }

  /// Reads an action from `POST /v1/actions`. Returns `nil` if the module has no such type. If there is
  /// a budget, it may be exhausted after that. Then the result means nothing.
  package func read(
    _ type: String,
    _ payload: JSON,
    budget: WorkBudget? = nil
  ) throws(Refusal) -> UserAction? {
    try reading(type, payload, budget)
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
