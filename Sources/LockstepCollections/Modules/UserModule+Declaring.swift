import LockstepJSON
import LockstepReactor

extension UserModule {
  /// A module with one list. Its elements are stored as JSON in a table that modules share.
  ///
  /// The server provides these routes for it:
  ///
  /// - `GET /v1/<name>` returns the list: whole, in pages, by `prefix`, at a cursor, or as a long
  ///   poll.
  /// - `GET /v1/<name>/<id>` returns one element.
  /// - `POST /v1/<name>/actions`, `POST /v1/actions` and the verbs change it.
  ///
  /// The feed has its changesets, the journal its mutations, and the catalogue its schemas. Exports
  /// contain it. Erasing the user erases it.
  ///
  /// - Parameters:
  ///   - name: The name: a lower-case letter, then up to 63 letters, digits, `_` or `-`. Never
  ///     change it, because stores contain it.
  ///   - element: The type of the elements.
  ///   - quota: The largest size of the list for one user.
  ///   - actions: The actions that clients can send. The journal records their payloads, so do not
  ///     put secrets there.
  ///   - verbs: The types of the actions that `PUT`, `PATCH` and `DELETE` of an element perform.
  ///     Their payloads have the member `id`, taken from the path. The other members come from the
  ///     body, without those that are `readOnly` in the element's format.
  ///   - reactor: Makes the reactor that decides on an action. `mutate` must decide at once; it
  ///     refuses by `.failure` with a `Refusal`. Asynchronous work is an error, because it would
  ///     delay all other writes. Transforms are not called.
  /// - Returns: The module. The server reports faults of the declaration when it starts.
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

  /// A module with one map of keys and values. Apart from that it is like a module with a list.
  ///
  /// - Parameters:
  ///   - name: The name, as for a list.
  ///   - value: The JSON Schema of a value. Default: any value.
  ///   - quota: The largest size of the map for one user.
  ///   - actions: The actions that clients can send.
  ///   - verbs: The types of the actions that `PUT` and `DELETE` of a value perform. Their payloads
  ///     have the member `key`, taken from the path. The payload of `PUT` also has `value`, which
  ///     is the body. Maps have no `PATCH`.
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

  /// The journal's record of an action: the action as it was sent.
  private static func record(_ type: String, _ payload: JSON) -> String {
    JSON.object(["type": .string(type), "payload": payload]).description
  }
}
