import LockstepComposition

/// Reads JSON Schemas as types.
///
/// It never fails. A schema that it cannot express becomes JSON, with a note. It stops at a depth and
/// at a number of schemas, because references can make a short document endless.
struct SchemaReader {
  /// Deeper objects become JSON. Structs within structs take the Swift compiler exponential time: 16
  /// levels take seconds, and 24 levels minutes.
  static let deepest = 12
  /// How many schemas all types of one run may have together.
  private(set) var remaining = 50_000

  /// The schemas around the present one that references may begin at: the first one, and those with `$defs`.
  private var roots: [JSON] = []
  /// The references that are being followed.
  private var followed: [String] = []

  mutating func type(of schema: JSON) -> SchemaType {
    roots = [schema]
    defer { roots = [] }
    return type(of: schema, depth: 0)
  }

  private mutating func type(of schema: JSON, depth: Int) -> SchemaType {
    guard depth < Self.deepest else { return json("the schema is nested too deeply") }
    guard remaining > 0 else { return json("the schemas are too large") }
    remaining -= 1
    guard let object = schema.objectValue else {
      return schema.boolValue == true ? .json : json("the schema allows no value, or is invalid")
    }
    let isRoot = depth > 0 && object.contains(name: "$defs")
    if isRoot { roots.append(schema) }
    defer { if isRoot { roots.removeLast() } }
    if let reference = object["$ref"] { return target(of: reference, depth) }
    for keyword in ["anyOf", "oneOf"] {
      if let schemas = object[keyword] { return alternative(of: schemas, keyword, depth) }
    }
    for keyword in ["allOf", "if", "patternProperties", "prefixItems"] where object.contains(name: keyword) {
      return json("the schema has \(keyword)")
    }
    if let values = object["enum"]?.arrayValue ?? object["const"].map({ [$0] }) { return choice(of: values) }
    return type(named: object["type"], in: object, depth)
  }

  private mutating func type(named name: JSON?, in schema: JSONObject, _ depth: Int) -> SchemaType {
    guard let name else {
      if schema["properties"]?.objectValue != nil { return object(schema, depth) }
      return schema["not"] == nil || schema["not"] == ["type": "null"] ? .json : json("the schema has not")
    }
    var names = name.arrayValue?.compactMap(\.stringValue) ?? [name.stringValue ?? ""]
    let isNullable = names.contains("null")
    names.removeAll { $0 == "null" }
    guard let only = names.first else { return json("the schema allows only null") }
    guard names.count == 1 else { return json("the schema allows several types") }
    var type = type(named: only, in: schema, depth)
    type.isNullable = type.isNullable || isNullable
    return type
  }

  private mutating func type(named name: String, in schema: JSONObject, _ depth: Int) -> SchemaType {
    switch name {
    case "string": return SchemaType(kind: schema["format"] == "date-time" ? .time : .text)
    case "boolean": return SchemaType(kind: .flag)
    case "integer": return SchemaType(kind: .whole)
    case "number": return SchemaType(kind: .number)
    case "array": return SchemaType(kind: .array(type(of: schema["items"] ?? true, depth: depth + 1)))
    case "object": return object(schema, depth)
    default: return json("the schema has an unknown type")
    }
  }

  private mutating func object(_ schema: JSONObject, _ depth: Int) -> SchemaType {
    let properties = schema["properties"]?.objectValue ?? JSONObject()
    if properties.isEmpty {
      guard schema["additionalProperties"] != false else { return SchemaType(kind: .object([])) }
      return SchemaType(kind: .map(type(of: schema["additionalProperties"] ?? true, depth: depth + 1)))
    }
    let required = Set((schema["required"]?.arrayValue ?? []).compactMap { $0.stringValue.map { Array($0.utf8) } })
    var members: [SchemaTypeMember] = []
    for (name, value) in properties {
      members.append(
        SchemaTypeMember(
          name: name,
          type: type(of: value, depth: depth + 1),
          isRequired: required.contains(Array(name.utf8)),
          isReadOnly: value["readOnly"]?.boolValue == true,
          description: value["description"]?.stringValue,
          format: value["format"]?.stringValue
        )
      )
    }
    return SchemaType(kind: .object(members))
  }

  /// If the choice is between one schema and null, the type is optional.
  private mutating func alternative(of schemas: JSON, _ keyword: String, _ depth: Int) -> SchemaType {
    let all = schemas.arrayValue ?? []
    let others = all.filter { $0 != ["type": "null"] }
    guard let only = others.first, others.count == 1 else { return json("the schema has \(keyword)") }
    var type = type(of: only, depth: depth + 1)
    type.isNullable = type.isNullable || all.count > 1
    return type
  }

  private func choice(of values: [JSON]) -> SchemaType {
    let others = values.filter { !$0.isNull }
    let texts = others.compactMap(\.stringValue)
    guard !texts.isEmpty, texts.count == others.count else { return json("the schema allows only some values") }
    return SchemaType(kind: .choice(texts), isNullable: others.count < values.count)
  }

  private mutating func target(of reference: JSON, _ depth: Int) -> SchemaType {
    guard let text = reference.stringValue, text.hasPrefix("#"),
      let pointer = try? JSONPointer(parsing: String(text.dropFirst())),
      let schema = roots.reversed().lazy.compactMap({ $0[pointer] }).first
    else { return json("the schema refers to another document") }
    guard !followed.contains(text) else { return json("the schema refers to itself") }
    followed.append(text)
    defer { followed.removeLast() }
    return type(of: schema, depth: depth + 1)
  }

  private func json(_ note: String) -> SchemaType { SchemaType(kind: .json(note: note)) }
}
