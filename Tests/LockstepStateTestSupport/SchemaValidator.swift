import LockstepJSON

/// Validates JSON against the part of JSON Schema that the catalogue and the OpenAPI document use.
/// An unknown keyword is a fault. So is a member that its schema does not name, unless the schema
/// describes additional members.
struct SchemaValidator {
  /// The document in which references are looked up.
  var document = JSON.null

  /// The differences between a value and its schema. It is empty if the value is valid.
  static func faults(_ value: JSON, _ schema: JSON) -> [String] { SchemaValidator().faults(value, schema) }

  /// The same, with references into the document. If `isWhole` is false, the schema is one of
  /// several that apply, and others may name more members.
  func faults(_ value: JSON, _ schema: JSON, at place: String = "", isWhole: Bool = true) -> [String] {
    let keywords = schema.objectValue ?? [:]
    var found = keywords.flatMap { faults(value, $0.name, $0.value, at: place, isWhole: isWhole) }
    // Beside a reference, a schema narrows some members.
    let isNarrowing = schema["$ref"] != nil
    if isWhole, !isNarrowing, let known = schema["properties"]?.objectValue, schema["additionalProperties"] == nil {
      let unknown = (value.objectValue ?? [:]).names.filter { known[$0] == nil }
      found += unknown.map { "\(place) has the member \($0), which is not described" }
    }
    return found
  }

  private func faults(
    _ value: JSON,
    _ keyword: String,
    _ rule: JSON,
    at place: String,
    isWhole: Bool
  ) -> [String] {
    switch keyword {
    case "$ref":
      guard let schema = resolve(rule.stringValue ?? "") else { return ["\(place): \(rule) leads nowhere"] }
      return faults(value, schema, at: place, isWhole: isWhole)
    case "allOf": return (rule.arrayValue ?? []).flatMap { faults(value, $0, at: place, isWhole: false) }
    case "anyOf":
      let matching = count(of: rule, matching: value, at: place, isWhole)
      return matching > 0 ? [] : ["\(place) fits none of \(rule)"]
    case "oneOf":
      let matching = count(of: rule, matching: value, at: place, isWhole)
      return matching == 1 ? [] : ["\(place) fits \(matching) of \(rule)"]
    case "properties":
      return (rule.objectValue ?? [:]).flatMap { name, schema in
        value[name].map { faults($0, schema, at: "\(place)/\(name)") } ?? []
      }
    case "propertyNames":
      return (value.objectValue ?? [:]).flatMap {
        faults(.string($0.name), rule, at: "\(place), its member \($0.name)")
      }
    case "items":
      return (value.arrayValue ?? []).enumerated().flatMap { faults($1, rule, at: "\(place)/\($0)") }
    case "additionalProperties" where rule != false:
      return (value.objectValue ?? [:]).flatMap { name, value in faults(value, rule, at: "\(place)/\(name)") }
    case "not": return faults(value, rule, isWhole: false).isEmpty ? ["\(place) fits \(rule)"] : []
    case "discriminator", "writeOnly", "readOnly", "default", "format", "description", "examples",
      "additionalProperties":
      return []
    default:
      return Self.complaint(about: value, keyword, rule).map { ["\(place) \($0)"] } ?? []
    }
  }

  /// The reason why a value breaks a simple keyword, or nil.
  private static func complaint(about value: JSON, _ keyword: String, _ rule: JSON) -> String? {
    let (number, text) = (value.doubleValue, value.stringValue)
    let (bound, count) = (rule.doubleValue ?? 0, rule.intValue ?? 0)
    switch keyword {
    case "type":
      return (rule.arrayValue ?? [rule]).contains { isOf($0.stringValue, value) }
        ? nil : "is \(value.typeName), not \(rule)"
    case "required":
      return (rule.arrayValue ?? []).compactMap(\.stringValue).first { value.objectValue != nil && value[$0] == nil }
        .map { "lacks \($0)" }
    case "enum": return (rule.arrayValue ?? []).contains(value) ? nil : "is not one of \(rule)"
    case "const": return value == rule ? nil : "is not \(rule)"
    case "minimum": return number.map { $0 < bound } == true ? "is too small" : nil
    case "maximum": return number.map { $0 > bound } == true ? "is too large" : nil
    case "minLength": return text.map { $0.unicodeScalars.count < count } == true ? "is too short" : nil
    case "maxLength": return text.map { $0.unicodeScalars.count > count } == true ? "is too long" : nil
    case "minItems": return value.arrayValue.map { $0.count < count } == true ? "has too few items" : nil
    case "maxItems": return value.arrayValue.map { $0.count > count } == true ? "has too many items" : nil
    case "pattern":
      guard let text, let pattern = rule.stringValue else { return nil }
      guard let expression = try? Regex(pattern) else { return "has an invalid pattern: \(pattern)" }
      return text.contains(expression) ? nil : "does not match \(pattern)"
    default: return "has the unknown keyword \(keyword)"
    }
  }

  private func count(of schemas: JSON, matching value: JSON, at place: String, _ isWhole: Bool) -> Int {
    (schemas.arrayValue ?? []).filter { faults(value, $0, at: place, isWhole: isWhole).isEmpty }.count
  }

  /// The value that a reference into the document leads to.
  func resolve(_ reference: String) -> JSON? {
    guard reference.hasPrefix("#"), let pointer = try? JSONPointer(parsing: String(reference.dropFirst())) else {
      return nil
    }
    return pointer.tokens.reduce(Optional(document)) { $0?[$1] }
  }

  private static func isOf(_ type: String?, _ value: JSON) -> Bool {
    type == "integer" ? value.int64Value != nil : type == value.typeName
  }
}
