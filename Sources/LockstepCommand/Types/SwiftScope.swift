/// The names and the nested types of a Swift type, or of the file.
struct SwiftScope {
  var names: UniqueNames
  private var definitions: [SwiftDefinition] = []

  init(reserved: Set<String>) { names = UniqueNames(reserved: reserved) }

  /// Whether the type needs a definition of its own, whose name `reference` then returns.
  func isOwnType(_ type: SchemaType) -> Bool {
    switch type.kind {
    case .object, .choice: !type.isNullable
    default: false
    }
  }

  /// The type as code. If the type needs a definition, `name` is its name. Closed choices are for values that only
  /// the client sends.
  mutating func reference(
    to type: SchemaType,
    _ name: String,
    isElement: Bool = false,
    isClosed: Bool = false
  ) -> String {
    let code =
      switch type.kind {
      case .json: "JSONValue"
      case .text: "String"
      case .time: "ServerTime"
      case .flag: "Bool"
      case .whole: "Int"
      case .number: "Double"
      case .array(let element): "[\(reference(to: element, "\(name)Item", isClosed: isClosed))]"
      case .map(let value): "[String: \(reference(to: value, "\(name)Value", isClosed: isClosed))]"
      case .choice(let texts): define(name, .choice(texts, isClosed: isClosed))
      case .object(let members): define(name, .structure(members, isElement: isElement, isClosed: isClosed))
      }
    return type.isNullable ? "\(code)?" : code
  }

  private mutating func define(_ name: String, _ content: SwiftDefinition.Content) -> String {
    let name = names.take(name)
    definitions.append(SwiftDefinition(name: name, content: content))
    return name
  }

  /// The next type to write.
  mutating func takeDefinition() -> SwiftDefinition? { definitions.isEmpty ? nil : definitions.removeFirst() }

  /// Writes the types, each after an empty line.
  mutating func writeDefinitions(to code: inout CodeText) {
    while let definition = takeDefinition() {
      code.line()
      definition.write(to: &code)
    }
  }
}

/// A member of a struct, or a value of an enum's case.
struct SwiftMember {
  let identifier: String
  let type: String
  let schema: SchemaTypeMember

  init(identifier: String, _ type: String, _ schema: SchemaTypeMember) {
    (self.identifier, self.type, self.schema) = (identifier, type, schema)
  }

  var code: String { SwiftNames.code(identifier) }

  /// The value of the member in an action that does not name it; nil if the action must name it.
  var byDefault: String? { schema.isRequired ? nil : type.hasPrefix("MemberChange<") ? ".keep" : "nil" }
}
