import LockstepJSON

extension UserModule {
  /// A module with one list, on whose actions a reactor of your own decides. A `ListModule` needs less
  /// code.
  ///
  /// The server provides these routes for the module:
  ///
  /// - `GET /v1/<name>` returns the list, a page of it, or the elements whose ids have a `prefix`.
  ///   The response can show a past state, or wait for a change.
  /// - `GET /v1/<name>/<id>` returns one element.
  /// - `POST /v1/<name>/actions`, `POST /v1/actions` and the verbs change the list.
  ///
  /// The feed, the journal, the catalogue and exports also contain the module. Erasing a user
  /// erases the user's list.
  ///
  /// - Parameters:
  ///   - name: A lower-case letter, then up to 63 letters, digits, `_` or `-`. Stores contain
  ///     the name, so never change it.
  ///   - element: The Swift type of the list's elements. The server derives their schema from the type's
  ///     `Codable` code, or takes that of a type that conforms to `SchemaProviding`.
  ///   - quota: The largest size of one user's list.
  ///   - actions: The actions that clients can request.
  ///   - verbs: The actions that the verbs of an element perform. The payload's member `id` comes
  ///     from the path, and the other members come from the body. The server ignores members of
  ///     the body that are `readOnly` in the element's schema. For `jsonPatch`, the payload has the
  ///     member `operations`. For `move`, it has the member `index`.
  ///   - record: How the journal shows an action. Default: as the client sent it. Clients can read
  ///     the journal, so leave secrets out.
  ///   - reactor: Makes the reactor that decides on an action.
  /// - Returns: The module. A server reports a mistake in the declaration when it starts.
  @inlinable  // Specializes the closures for the reactor, because each write calls them.
  public static func list<R: ModuleReactor, Element: ListContent>(
    _ name: String,
    of element: Element.Type,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: VerbAction<R.Action>] = [:],
    record: (@Sendable (R.Action) -> JSON)? = nil,
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == ListState, R.Mutation == ListMutation, Element.ID == String {
    list(
      name,
      of: element,
      quota: quota,
      actions: actions,
      verbs: verbs,
      record: record,
      reduce: R.reduce,
      decide: { action, list, context throws(Refusal) in try reactor(context).mutate(action, in: list) }
    )
  }

  @usableFromInline
  static func list<Action, Element: ListContent>(
    _ name: String,
    of element: Element.Type,
    quota: CollectionQuota,
    actions: [ActionCase<Action>],
    verbs: [ElementVerb: VerbAction<Action>],
    record: (@Sendable (Action) -> JSON)?,
    reduce: @escaping @Sendable (inout ListState, ListMutation) -> Void,
    decide: @escaping @Sendable (Action, ListState, ActionContext) throws(Refusal) -> [ListMutation]
  ) -> UserModule where Element.ID == String {
    let format: ElementFormat<Element>
    do { format = try ElementFormat([], of: name) } catch { return unserved(name, error) }
    return list(
      name,
      format,
      quota: quota,
      cases: actions,
      verbs: verbs,
      record: { type, payload, action in record?(action) ?? Self.sent(type, payload) },
      reduce: reduce,
      decide: { action, list, context in
        let mutations = try decide(action, list, context)
        for mutation in mutations { try mutation.check(of: name, format.checkStable) }
        return mutations.map(CollectionMutation.list)
      }
    )
  }

  /// A module with one map of keys and values. Otherwise it is like a module with a list. `value`
  /// is the JSON Schema of a value, for clients. The server does not check values by it. A map has
  /// only the verbs `put` and `delete`. Their payloads have the member `key`, which comes from the
  /// path. The payload of `put` also has `value`, which is the body.
  @inlinable
  public static func map<R: ModuleReactor>(
    _ name: String,
    value: JSON = [:],
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: VerbAction<R.Action>] = [:],
    record: (@Sendable (R.Action) -> JSON)? = nil,
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == MapState, R.Mutation == MapMutation {
    map(
      name,
      value: value,
      quota: quota,
      actions: actions,
      verbs: verbs,
      record: record,
      reduce: R.reduce,
      decide: { action, map, context throws(Refusal) in try reactor(context).mutate(action, in: map) }
    )
  }

  /// A module whose state is one object with fixed members, such as a profile. `GET /v1/<name>`
  /// shows the members that have a value, in the order of `members`, and `PATCH /v1/<name>`
  /// performs the action `patch` with the body as its payload. The reactor keeps each member in its
  /// map under the member's name. The other parameters are those of a list.
  @inlinable
  public static func object<R: ModuleReactor>(
    _ name: String,
    members: [ObjectField],
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    patch: VerbAction<R.Action>,
    record: (@Sendable (R.Action) -> JSON)? = nil,
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == MapState, R.Mutation == MapMutation {
    map(
      name,
      members: members,
      quota: quota,
      actions: actions,
      verbs: [.patch: patch],
      record: record,
      reduce: R.reduce,
      decide: { action, map, context throws(Refusal) in try reactor(context).mutate(action, in: map) }
    )
  }

  /// A map module, or an object module if `members` is given.
  @usableFromInline
  static func map<Action>(
    _ name: String,
    value: JSON = [:],
    members: [ObjectField]? = nil,
    quota: CollectionQuota,
    actions: [ActionCase<Action>],
    verbs: [ElementVerb: VerbAction<Action>],
    record: (@Sendable (Action) -> JSON)?,
    reduce: @escaping @Sendable (inout MapState, MapMutation) -> Void,
    decide: @escaping @Sendable (Action, MapState, ActionContext) throws(Refusal) -> [MapMutation]
  ) -> UserModule {
    let collection = CollectionName(name)
    let object = members?.map { SchemaMember(name: $0.name, schema: $0.schema, isRequired: false) }
    var module = UserModule(
      name,
      shape: members.map { .object(members: $0.map(\.name)) } ?? .map,
      reducer: .map(reduce),
      cases: actions,
      verbs: verbs,
      state: object.map { .schema(ofObject: $0) } ?? .mapSchema(of: value)
    ) { type, payload, action in
      let recorded = record?(action) ?? Self.sent(type, payload)
      return UserAction(collection: collection, record: recorded.description) { context in
        let mutations = try decide(action, context.state.map(collection), context)
        for mutation in mutations { try mutation.check(of: name) }
        return mutations.map(CollectionMutation.map)
      }
    }
    if let repeated = object?.repeatedMember { module.mistake = "its state has the member “\(repeated)” twice." }
    module.quota = quota
    return module
  }

  private static func sent(_ type: String, _ payload: JSON) -> JSON {
    ["type": .string(type), "payload": payload]
  }
}

/// A member of an object module: its name and the JSON Schema of its value.
public struct ObjectField: Sendable {
  /// The member's name.
  public let name: String
  /// The JSON Schema of its value.
  public let schema: JSON

  /// A member with this name and schema.
  public init(_ name: String, schema: JSON) {
    self.name = name
    self.schema = schema
  }
}
