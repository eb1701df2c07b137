import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepSync

/// What there is to say of a module's routes, all of it made of its declaration.
///
/// The names of its schemas begin with a small letter, as modules' names do, and the product's with a capital one.
struct DescribedModule {
  let module: UserModule

  /// What an element is called as a schema of its own.
  var elementName: String { "\(module.name).element" }
  /// The same for one of its actions.
  var actionName: String { "\(module.name).action" }

  /// What `GET /v1/<module>` gives.
  var state: JSON { .reference(module.name) }
  /// What is in it.
  var element: JSON { .reference(elementName) }
  /// One of its actions, `{"type", "payload"}`.
  var action: JSON { .reference(actionName) }

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

  /// What `action` refers to.
  var actionSchema: (String, JSON) { (actionName, ["oneOf": .array(actions(ofModule: nil))]) }

  /// The actions as `POST /v1/actions` takes them, which names their module.
  var namedActions: [JSON] { actions(ofModule: module.name) }

  /// One action, or several in order.
  var oneOrMore: JSON {
    [
      "oneOf": [
        action, ["type": "array", "items": action, "minItems": 1, "maxItems": JSON(Transaction.maximumActions)],
      ]
    ]
  }

  /// An element as its own address shows it: that of a list with its place.
  var placedElement: JSON {
    guard module.kind == .list else { return element }
    return ["allOf": [element, .schema(ofObject: [SchemaMember(name: "index", schema: .indexSchema)])]]
  }

  /// The payload of an action as the body of a request to an element's address, which has the element's name.
  ///
  /// - Parameters:
  ///   - type: The action's type.
  ///   - key: What the name is called in payloads.
  ///   - passedOver: Members that may be sent back as they came, and nothing is done with them.
  /// - Returns: The schema.
  func body(of type: String, without key: String, passingOver passedOver: [String]) -> JSON {
    let payload = module.actions.arrayValue?.first { $0["type"]?.stringValue == type }?["payload"]
    let required = (payload?["required"]?.arrayValue ?? []).compactMap(\.stringValue)
    var members = (payload?["properties"]?.objectValue ?? JSONObject()).filter { $0.name != key }
      .map { SchemaMember(name: $0.name, schema: $0.value, isRequired: required.contains($0.name)) }
    let same: JSON = ["type": "string", "description": .string("The \(key) in the path, or left out.")]
    members.append(SchemaMember(name: key, schema: same, isRequired: false))
    for name in passedOver where !members.contains(where: { $0.name == name }) {
      let schema: JSON = ["description": "May be sent back as it came; nothing is done with it."]
      members.append(SchemaMember(name: name, schema: schema, isRequired: false))
    }
    return .closedSchema(of: members)
  }

  private func actions(ofModule name: String?) -> [JSON] {
    Self.schemas(ofActions: module.actions, module: name)
  }

  /// Actions as clients send them, of what the catalogue says of them.
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
  /// Puts a value in the place of another further down; where there is none nothing changes.
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
