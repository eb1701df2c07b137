import LockstepJSON
import LockstepSchema

extension JSON {
  /// The value that a reference such as `#/components/schemas/Item` leads to in this document.
  func referenced(by reference: String) -> JSON? {
    guard reference.hasPrefix("#"), let pointer = try? JSONPointer(parsing: String(reference.dropFirst())) else {
      return nil
    }
    return pointer.tokens.reduce(Optional(self)) { $0?[$1] }
  }
}

/// A schema of the catalogue or of the OpenAPI document, which LockstepSchema checks.
///
/// A member that its schema does not name is a fault, unless the schema describes additional members.
struct DocumentedSchema: Sendable {
  private let compiled: ValueSchema
  private let schema: JSON
  private let document: JSON

  /// Compiles a schema whose references lead into the document.
  init(_ schema: JSON, in document: JSON = .null) throws {
    var translation = Translation(document: document)
    compiled = try ValueSchema(try translation.translated(schema))
    (self.schema, self.document) = (schema, document)
  }

  /// The differences between a value and its schema. It is empty if the value is valid.
  static func faults(_ value: JSON, _ schema: JSON) -> [String] {
    do {
      return try DocumentedSchema(schema).faults(value)
    } catch {
      return ["\(error)"]
    }
  }

  /// The differences between a value and the schema. It is empty if the value is valid.
  func faults(_ value: JSON) -> [String] {
    compiled.faults(of: value).map { "\($0.pointer): \($0.detail)" } + patternFaults(value, schema, at: "")
  }

  /// The texts that do not match the patterns of their schemas. LockstepSchema refuses patterns, because the
  /// schemas of clients may be hostile.
  private func patternFaults(_ value: JSON, _ schema: JSON, at place: String) -> [String] {
    var faults: [String] = []
    if let reference = schema["$ref"]?.stringValue, let target = document.referenced(by: reference) {
      faults += patternFaults(value, target, at: place)
    }
    for part in schema["allOf"]?.arrayValue ?? [] { faults += patternFaults(value, part, at: place) }
    for (name, part) in schema["properties"]?.objectValue ?? [:] {
      if let member = value[name] { faults += patternFaults(member, part, at: "\(place)/\(name)") }
    }
    if let names = schema["propertyNames"] {
      for (name, _) in value.objectValue ?? [:] { faults += patternFaults(.string(name), names, at: place) }
    }
    if let part = schema["items"] {
      for (index, element) in (value.arrayValue ?? []).enumerated() {
        faults += patternFaults(element, part, at: "\(place)/\(index)")
      }
    }
    if let text = value.stringValue, let pattern = schema["pattern"]?.stringValue {
      let isMatch = (try? Regex(pattern)).map { text.contains($0) }
      if isMatch != true { faults.append("\(place): \(text) does not match \(pattern)") }
    }
    return faults
  }
}

/// Makes a schema of a document one that LockstepSchema compiles.
private struct Translation {
  struct MissingReference: Error { let reference: String }

  let document: JSON
  /// The schemas that references lead to, by their names in `$defs`.
  private var definitions = JSONObject()
  /// References whose schemas are not yet in `definitions`.
  private var missing: [(name: String, reference: String, isWhole: Bool)] = []

  private static let formats: Set = ["date-time", "date", "email", "uri", "uuid"]

  init(document: JSON) { self.document = document }

  mutating func translated(_ schema: JSON) throws(MissingReference) -> JSON {
    guard var root = translated(schema, isWhole: true).objectValue else { return schema }
    while let next = missing.popLast() {
      guard let target = document.referenced(by: next.reference) else {
        throw MissingReference(reference: next.reference)
      }
      definitions[next.name] = translated(target, isWhole: next.isWhole)
    }
    if !definitions.isEmpty { root["$defs"] = .object(definitions) }
    return .object(root)
  }

  /// If `isWhole` is false, the schema is one of several that apply, and others may name more members.
  private mutating func translated(_ schema: JSON, isWhole: Bool) -> JSON {
    guard let keywords = schema.objectValue else { return schema }
    var result = JSONObject()
    for (keyword, rule) in keywords {
      switch keyword {
      case "$ref": result[keyword] = .string(reference(to: rule.stringValue ?? "", isWhole: isWhole))
      case "allOf": result[keyword] = all(rule, isWhole: false)
      case "anyOf", "oneOf": result[keyword] = all(rule, isWhole: isWhole)
      case "not": result[keyword] = translated(rule, isWhole: false)
      case "items", "additionalProperties": result[keyword] = translated(rule, isWhole: true)
      case "properties":
        var members = JSONObject()
        for (name, part) in rule.objectValue ?? [:] { members[name] = translated(part, isWhole: true) }
        result[keyword] = .object(members)
      case "format": if Self.formats.contains(rule.stringValue ?? "") { result[keyword] = rule }
      case "pattern", "propertyNames", "discriminator", "description", "examples": break
      default: result[keyword] = rule
      }
    }
    // Beside a reference, a schema narrows some members.
    if isWhole, result["properties"] != nil, result["$ref"] == nil, result["additionalProperties"] == nil {
      result["additionalProperties"] = false
    }
    return .object(result)
  }

  private mutating func all(_ schemas: JSON, isWhole: Bool) -> JSON {
    var result: [JSON] = []
    for schema in schemas.arrayValue ?? [] { result.append(translated(schema, isWhole: isWhole)) }
    return .array(result)
  }

  private mutating func reference(to reference: String, isWhole: Bool) -> String {
    let target = reference.split(separator: "/").last.map(String.init) ?? ""
    let name = isWhole ? target : "\(target).part"
    if definitions[name] == nil {
      // Its schema may refer to itself.
      definitions[name] = true
      missing.append((name, reference, isWhole))
    }
    return "#/$defs/\(name)"
  }
}
