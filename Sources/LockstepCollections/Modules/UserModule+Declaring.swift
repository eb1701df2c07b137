import LockstepJSON
import LockstepReactor

extension UserModule {
  /// A module whose state is one list, kept as JSON in a table of the product's.
  ///
  /// It's served as `/v1/<name>`: read whole, in pages or by `prefix`, as of a cursor and while waiting, each element at
  /// `/v1/<name>/<id>`; written by `POST /v1/<name>/actions`, `POST /v1/actions` and the verbs. Its changesets are in the
  /// feed, its facts in the journal, and it is in the catalogue, in exports, and gone with its user.
  ///
  /// - Parameters:
  ///   - name: Its name: a small letter, then up to 63 letters, digits, `_` or `-`. Stores remember it: it's never changed.
  ///   - element: What it's a list of.
  ///   - quota: How much a user may have of it.
  ///   - actions: What clients can ask for. The payload is in the journal as it was sent, so it holds no secrets.
  ///   - verbs: The types of the actions that `PUT`, `PATCH` and `DELETE` of an element stand for. Their payloads have the
  ///     member `id`, which is the one in the path; the others are the body's, without those that are `readOnly` in the
  ///     element's format.
  ///   - reactor: Makes the reactor that decides on an action. `mutate` decides at once and refuses by `.failure` with a
  ///     `Refusal`: what takes time would hold up everybody's writes, and is an error. Its transforms aren't called.
  /// - Returns: The module. What is wrong with the declaration is told when a server starts with it.
  public static func list<R: Reactor, Element: ListElement>(
    _ name: String,
    of element: Element.Type,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: String] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == ListState, R.Mutation == ListMutation {
    let collection = CollectionName(name)
    let state = JSON.schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: "items", schema: ["type": "array", "items": Element.format.schema]),
    ])
    var module = UserModule(name, reducer: .list(R.reduce), cases: actions, state: state) { type, payload, action in
      UserAction(collection: collection, record: record(type, payload)) { surroundings in
        let state = surroundings.state.list(collection)
        let mutations = try reactor(ActionContext(surroundings)).decision(on: action, in: state)
        for mutation in mutations { try mutation.check(by: Element.self, of: name) }
        return mutations.map(CollectionMutation.list)
      }
    }
    module.verbs = DeclaredVerb.verbs(verbs, actions, element: Element.format.schema)
    module.quota = quota
    module.canRead = { Element(encoded: $0) != nil }
    return module
  }

  /// A module whose state is one map: values by keys. What is said of `list` holds for it too.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - value: The JSON Schema of a value. Default: any.
  ///   - quota: How much a user may have of it.
  ///   - actions: What clients can ask for.
  ///   - verbs: The types of the actions that `PUT` and `DELETE` of a value stand for. Their payloads have the member `key`,
  ///     which is the one in the path; that of `PUT` has `value`, which is the body. `PATCH` there is none.
  ///   - reactor: Makes the reactor that decides on an action.
  /// - Returns: The module.
  public static func map<R: Reactor>(
    _ name: String,
    value: JSON = [:],
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: String] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == MapState, R.Mutation == MapMutation {
    let collection = CollectionName(name)
    let state = JSON.schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: "values", schema: ["type": "object", "additionalProperties": value]),
    ])
    var module = UserModule(name, reducer: .map(R.reduce), cases: actions, state: state) { type, payload, action in
      UserAction(collection: collection, record: record(type, payload)) { surroundings in
        let state = surroundings.state.map(collection)
        let mutations = try reactor(ActionContext(surroundings)).decision(on: action, in: state)
        for mutation in mutations { try mutation.check(of: name) }
        return mutations.map(CollectionMutation.map)
      }
    }
    module.verbs = DeclaredVerb.verbs(verbs, actions)
    module.quota = quota
    return module
  }

  /// How the journal tells an action: as it was sent.
  private static func record(_ type: String, _ payload: JSON) -> String {
    JSON.object(["type": .string(type), "payload": payload]).description
  }
}
