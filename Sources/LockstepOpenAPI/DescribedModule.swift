import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepSync

/// The schemas of a module, made from its declaration.
///
/// Their keys begin with the module's name, so with a lower-case letter. Keys of schemas that belong
/// to no module, such as `Problem`, begin with a capital. See `SchemaComponents` for the names that
/// clients see, such as `FavoritesElement`.
package struct DescribedModule {
  let module: UserModule

  package init(module: UserModule) { self.module = module }

  private var stateKey: String { "\(module.name).state" }
  private var elementKey: String { "\(module.name).element" }
  private var placedElementKey: String { "\(module.name).placedElement" }
  private var plainActionKey: String { "\(module.name).plainAction" }
  private var actionKey: String { "\(module.name).action" }

  /// The body of `GET /v1/<module>`.
  package var state: JSON { .reference(stateKey) }
  package var element: JSON { .reference(elementKey) }

  /// The schemas that `state`, `element` and `placedElement` refer to.
  package var schemas: [String: JSON] {
    let (outer, inner) = module.kind == .list ? ("items", "items") : ("values", "additionalProperties")
    var schemas = [stateKey: module.state]
    if let described = module.state["properties"]?[outer]?[inner] {
      schemas[elementKey] = described
      schemas[stateKey]?.replace(["properties", outer, inner], by: element)
    }
    if module.shape == .list {
      schemas[placedElementKey] = ["allOf": [element, .schema(["index": .indexSchema])]]
    }
    return schemas
  }

  /// The schemas of actions as `POST /v1/<module>/actions` accepts them: `{"type", "payload"}`.
  var plainActions: [String: JSON] { schemas(ofActions: plainActionKey) }

  /// The schemas of actions as `POST /v1/actions` accepts them: each action names its module.
  package var actions: [String: JSON] { schemas(ofActions: actionKey, module: module.name) }

  /// An action in `POST /v1/actions`.
  package var action: JSON { .reference(actionKey) }

  /// The schema of each action, and of any of them.
  private func schemas(ofActions key: String, module name: String? = nil) -> [String: JSON] {
    let choices = (module.actions.arrayValue ?? []).map { action in
      let type = action["type"]?.stringValue ?? ""
      return (value: type, key: "\(key).\(type)", schema: Self.schema(ofAction: action, module: name, Self.condition))
    }
    var schemas = [key: JSON.oneOf(choices.map { ($0.value, $0.key) }, by: "type")]
    for choice in choices { schemas[choice.key] = choice.schema }
    return schemas
  }

  var oneOrMore: JSON {
    [
      "oneOf": [
        .reference(plainActionKey),
        [
          "type": "array", "items": .reference(plainActionKey), "minItems": 1,
          "maxItems": JSON(Transaction.maximumActions),
        ],
      ]
    ]
  }

  /// An element as `GET` of its path shows it. An element of a list contains its index.
  var placedElement: JSON {
    module.kind == .list ? .reference(placedElementKey) : element
  }

  /// The schema of a request body for a verb: the payload of the verb's action. The id or key is
  /// optional or not allowed, because the path contains it.
  package func body(of verb: ElementVerb, _ action: DeclaredVerb) -> JSON {
    let key = module.keyName
    let payload = action.payload
    let required = (payload?["required"]?.arrayValue ?? []).compactMap(\.stringValue)
    var members = (payload?["properties"]?.objectValue ?? JSONObject()).filter { $0.name != key }
      .map { SchemaMember(name: $0.name, schema: $0.value, isRequired: required.contains($0.name)) }
    if verb == .move { return .closedSchema(of: members) }
    if case .object = module.shape { return .closedSchema(of: members) }
    let same: JSON = ["type": "string", "description": .string("Optional. It must be the \(key) in the path.")]
    members.append(SchemaMember(name: key, schema: same, isRequired: false))
    for name in action.ignored.sorted() {
      let schema: JSON = ["description": "Ignored, so that clients can send an element as they have read it."]
      members.append(SchemaMember(name: name, schema: schema, isRequired: false))
    }
    return .closedSchema(of: members)
  }

  /// The member `ifMatch`, which actions of modules may have.
  private static var condition: [SchemaMember] {
    let schema: JSON = [
      "type": "string", "pattern": "^[A-Za-z0-9._-]+$",
      "description": .string(
        "A cursor of the user's state. The actions are applied only if the element that this action names has not "
          + "changed since: its content, or a position that was written. If the action names no element, the whole "
          + "collection must not have changed."
      ),
    ]
    return [SchemaMember(name: "ifMatch", schema: schema, isRequired: false)]
  }

  /// The schemas of a screen's actions as clients send them, made from the actions' entries in the
  /// catalogue.
  package static func schemas(ofActions catalogue: JSON) -> [JSON] {
    (catalogue.arrayValue ?? []).map { schema(ofAction: $0, module: nil, []) }
  }

  private static func schema(ofAction action: JSON, module: String?, _ more: [SchemaMember]) -> JSON {
    let payload = action["payload"] ?? [:]
    let needsPayload = payload["required"]?.arrayValue?.isEmpty == false
    var members = [
      SchemaMember(name: "type", schema: ["const": action["type"] ?? .null]),
      SchemaMember(name: "payload", schema: payload, isRequired: needsPayload),
    ]
    if let module { members.insert(SchemaMember(name: "module", schema: ["const": .string(module)]), at: 0) }
    return .closedSchema(of: members + more)
  }
}

extension UserModule {
  /// `id` or `key`: the parameter in the path and the member of payloads that name an element.
  package var keyName: String { kind == .list ? "id" : "key" }
}

extension JSON {
  /// Replaces the value at a path. If there is no value, nothing changes.
  fileprivate mutating func replace(_ path: ArraySlice<String>, by value: JSON) {
    guard let name = path.first else {
      self = value
      return
    }
    guard var object = objectValue, var member = object[name] else { return }
    member.replace(path.dropFirst(), by: value)
    object[name] = member
    self = .object(object)
  }
}

/// The descriptions of the routes in `ModuleRoutes`.
package struct ModuleDescriptions {
  let module: UserModule

  package init(module: UserModule) { self.module = module }

  private var described: DescribedModule { DescribedModule(module: module) }
  private var isList: Bool { module.shape == .list }
  private var name: RouteParameter { .element(module.keyName) }
  private var part: String { module.noun?.many ?? module.name }
  package var summaries: ModuleSummaries { ModuleSummaries(module: module) }

  package var whole: RouteDescription {
    .reading(
      operation(isList ? "list" : "get", isWhole: true),
      part: part,
      parameters: isList ? RouteParameter.pages : module.shape == .map ? [.prefix] : [],
      shows: described.state,
      fields: isList ? [.link] : [],
      schemas: described.schemas
    )
  }

  package var element: RouteDescription {
    .reading(operation("get"), part: part, parameters: [name], shows: described.placedElement)
  }

  package var actions: RouteDescription {
    .writing(
      operation("actOn", isWhole: true),
      part: part,
      parameters: [.dryRun],
      body: RouteBody(described.oneOrMore),
      responses: [.results],
      problems: [.notFound],
      schemas: described.plainActions.merging(SharedSchema.actionResults) { own, _ in own }
    )
  }

  package func verb(_ verb: ElementVerb, _ action: DeclaredVerb) -> RouteDescription {
    if case .object = module.shape {
      return .writing(
        operation("patch", isWhole: true),
        part: part,
        body: RouteBody(described.body(of: verb, action)),
        responses: [.written(.ok, "The resource after the change.", shows: described.state)]
      )
    }
    switch verb {
    case .delete: return .removing(operation("remove"), part: part, parameters: [name])
    case .put:
      let body = isList ? described.body(of: verb, action) : described.element
      // An element that needs only its id may have an empty body.
      let isRequired = !isList || body["required"]?.arrayValue?.isEmpty == false
      return writing(
        operation("put"),
        RouteBody(body, isRequired: isRequired),
        [
          .written(.created, "Created.", shows: described.placedElement),
          .written(.ok, "Replaced or changed.", shows: described.placedElement),
        ]
      )
    case .patch, .jsonPatch:
      return writing(operation("patch"), patchBody, [changed], schemas: patchSchemas)
    case .move: return writing(operation("move"), RouteBody(described.body(of: verb, action)), [changed])
    }
  }

  private var changed: RouteResponse {
    .written(.ok, "The element after the change.", shows: described.placedElement)
  }

  private var patchSchemas: [String: JSON] {
    module.verbs[.jsonPatch] == nil ? [:] : SharedSchema.jsonPatches
  }

  private var patchBody: RouteBody {
    let members = module.verbs[.patch].map { described.body(of: .patch, $0) }
    let types = ["application/json", "application/merge-patch+json"]
    var content = members.map { members in types.map { ($0, members) } } ?? []
    if module.verbs[.jsonPatch] != nil {
      content.append(("application/json-patch+json", .reference(SharedSchema.jsonPatch.0)))
    }
    return RouteBody(content)
  }

  private func writing(
    _ operation: String,
    _ body: RouteBody,
    _ responses: [RouteResponse],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    .writing(
      operation,
      part: part,
      parameters: [name],
      body: body,
      responses: responses,
      problems: [.notFound],
      schemas: schemas
    )
  }

  /// The id of an operation: `getFavorite` if the module has a noun, otherwise `getShoppingElement`.
  private func operation(_ verb: String, isWhole: Bool = false) -> String {
    let name = module.name.inPascalCase
    let noun = module.noun ?? ElementNoun(one: "\(name)Element", many: name)
    return verb + (isWhole ? noun.many : noun.one)
  }
}

/// One sentence about each route of a module.
package struct ModuleSummaries {
  let module: UserModule

  private var one: String? { module.noun?.one.lowercased() }

  package var whole: String {
    guard let noun = module.noun else { return "The user's state in \(module.name)." }
    return "The user's \(noun.many.lowercased())\(module.shape == .list ? ", in their order" : "")."
  }

  package var element: String {
    guard let one else { return "One element of \(module.name)." }
    return module.shape == .list ? "One \(one), with its index." : "One \(one)."
  }

  package func verb(_ verb: ElementVerb, _ action: DeclaredVerb) -> String {
    guard let one else { return "Performs the action \(action.type) of \(module.name)." }
    if case .object = module.shape { return "Changes fields of the \(one), all or none." }
    return switch verb {
    case .put: "Adds a \(one), or replaces the one with this \(module.keyName)."
    case .patch, .jsonPatch: "Changes a \(one) by a patch."
    case .delete: "Removes a \(one)."
    case .move: "Moves a \(one) to another place."
    }
  }
}
