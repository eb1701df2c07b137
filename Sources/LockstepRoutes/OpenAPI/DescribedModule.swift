import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepSync

/// The schemas of a module, made of its declaration.
///
/// Their names begin with a lower-case letter, as modules' names do; those of the product begin
/// with a capital.
struct DescribedModule {
  let module: UserModule

  private var elementName: String { "\(module.name).element" }
  private var actionName: String { "\(module.name).action" }

  /// The body of `GET /v1/<module>`.
  var state: JSON { .reference(module.name) }
  var element: JSON { .reference(elementName) }
  /// An action, `{"type", "payload"}`.
  private var action: JSON { .reference(actionName) }

  /// The schemas that state and element refer to.
  var schemas: [String: JSON] {
    let (outer, inner) = module.kind == .list ? ("items", "items") : ("values", "additionalProperties")
    var schemas = [module.name: module.state]
    if let described = module.state["properties"]?[outer]?[inner] {
      schemas[elementName] = described
      schemas[module.name]?.replace(["properties", outer, inner], by: element)
    }
    return schemas
  }

  /// The schema that `action` refers to.
  var actionSchema: (String, JSON) { (actionName, ["oneOf": .array(Self.schemas(ofActions: module.actions))]) }

  /// The actions as `POST /v1/actions` takes them, with their module.
  var namedActions: [JSON] { Self.schemas(ofActions: module.actions, module: module.name) }

  /// An action, or an array of them.
  var oneOrMore: JSON {
    [
      "oneOf": [
        action, ["type": "array", "items": action, "minItems": 1, "maxItems": JSON(Transaction.maximumActions)],
      ]
    ]
  }

  /// An element as its own address shows it: in a list with its index.
  var placedElement: JSON {
    module.kind == .list ? ["allOf": [element, .schema(["index": .indexSchema])]] : element
  }

  /// The payload of an action as the body of a request to an element's address. `key` is the member
  /// that the path has already; `passedOver` are members of a response that may be sent back and
  /// are ignored.
  func body(of type: String, without key: String, passingOver passedOver: [String]) -> JSON {
    let payload = module.actions.arrayValue?.first { $0["type"]?.stringValue == type }?["payload"]
    let required = (payload?["required"]?.arrayValue ?? []).compactMap(\.stringValue)
    var members = (payload?["properties"]?.objectValue ?? JSONObject()).filter { $0.name != key }
      .map { SchemaMember(name: $0.name, schema: $0.value, isRequired: required.contains($0.name)) }
    let same: JSON = ["type": "string", "description": .string("The \(key) in the path. May be left out.")]
    members.append(SchemaMember(name: key, schema: same, isRequired: false))
    for name in passedOver where !members.contains(where: { $0.name == name }) {
      let schema: JSON = ["description": "Ignored, so that a response can be sent back."]
      members.append(SchemaMember(name: name, schema: schema, isRequired: false))
    }
    return .closedSchema(of: members)
  }

  /// Actions as clients send them, made of their entries in the catalogue.
  static func schemas(ofActions catalogue: JSON, module: String? = nil) -> [JSON] {
    (catalogue.arrayValue ?? []).map { action in
      let payload = action["payload"] ?? [:]
      let needsPayload = payload["required"]?.arrayValue?.isEmpty == false
      var members = [
        SchemaMember(name: "type", schema: ["const": action["type"] ?? .null]),
        SchemaMember(name: "payload", schema: payload, isRequired: needsPayload),
      ]
      if let module { members.insert(SchemaMember(name: "module", schema: ["const": .string(module)]), at: 0) }
      return .closedSchema(of: members)
    }
  }
}

extension JSON {
  /// Replaces the value at a path; without one nothing changes.
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
struct ModuleDescriptions {
  let module: UserModule
  /// The path parameter of an element: `id` or `key`.
  let key: String

  private var described: DescribedModule { DescribedModule(module: module) }
  private var isList: Bool { module.kind == .list }
  private var name: RouteParameter { .element(key) }

  var whole: RouteDescription {
    .reading(
      "\(module.name).get",
      part: module.name,
      parameters: isList ? RouteParameter.pages : [.prefix],
      shows: described.state,
      fields: isList ? [.link] : [],
      schemas: described.schemas
    )
  }

  var element: RouteDescription {
    .reading("\(module.name).element", part: module.name, parameters: [name], shows: described.placedElement)
  }

  var actions: RouteDescription {
    .writing(
      "\(module.name).act",
      part: module.name,
      body: RouteBody(described.oneOrMore),
      answers: [.results],
      problems: [.notFound],
      schemas: .shared(SharedSchema.mutation, SharedSchema.results, described.actionSchema)
    )
  }

  func verb(_ verb: ElementVerb, _ action: DeclaredVerb) -> RouteDescription {
    let called = "\(module.name).\(verb.rawValue)"
    guard verb != .delete else { return .removing(called, part: module.name, parameters: [name]) }
    let shown = described.placedElement
    return .writing(
      called,
      part: module.name,
      parameters: [name],
      body: body(action),
      answers: [
        .written(.created, "Created.", shows: shown), .written(.ok, "Replaced or changed.", shows: shown),
      ],
      problems: [.notFound]
    )
  }

  private func body(_ action: DeclaredVerb) -> RouteBody {
    guard isList else { return RouteBody(described.element) }
    let passedOver = action.passedOver.sorted()
    return RouteBody(described.body(of: action.type, without: key, passingOver: passedOver), isRequired: false)
  }
}
