import JSON

/// Validates JSON against as much of JSON Schema as the catalogue uses. A keyword that it doesn't know is a fault too.
enum SchemaValidator {
  /// Where a value isn't as the schema says; empty where it is.
  static func faults(_ value: JSON, _ schema: JSON, at place: String = "") -> [String] {
    (schema.objectValue ?? [:]).flatMap { keyword, rule -> [String] in
      switch keyword {
      case "type":
        let types = rule.arrayValue ?? [rule]
        return types.contains { isOf($0.stringValue, value) } ? [] : ["\(place) is \(value.typeName), not \(rule)"]
      case "properties":
        return (rule.objectValue ?? [:]).flatMap { name, schema in
          value[name].map { faults($0, schema, at: "\(place)/\(name)") } ?? []
        }
      case "required":
        return (rule.arrayValue ?? []).compactMap { name in
          value[name.stringValue ?? ""] == nil ? "\(place) lacks \(name)" : nil
        }
      case "items":
        return (value.arrayValue ?? []).enumerated().flatMap { faults($1, rule, at: "\(place)/\($0)") }
      case "enum": return (rule.arrayValue ?? []).contains(value) ? [] : ["\(place) isn't one of \(rule)"]
      case "minimum": return value.doubleValue ?? .infinity < rule.doubleValue ?? 0 ? ["\(place) is too small"] : []
      case "minLength":
        return value.stringValue.map(\.unicodeScalars.count) ?? .max < rule.intValue ?? 0
          ? ["\(place) is too short"] : []
      case "maximum": return value.doubleValue ?? -.infinity > rule.doubleValue ?? 0 ? ["\(place) is too large"] : []
      case "maxLength":
        return value.stringValue?.unicodeScalars.count ?? 0 > rule.intValue ?? 0 ? ["\(place) is too long"] : []
      case "additionalProperties":
        return (value.objectValue ?? [:]).flatMap { name, value in faults(value, rule, at: "\(place)/\(name)") }
      case "writeOnly", "readOnly", "default", "format": return []
      default: return ["\(place) has the unknown keyword \(keyword)"]
      }
    }
  }

  private static func isOf(_ type: String?, _ value: JSON) -> Bool {
    type == "integer" ? value.int64Value != nil : type == value.typeName
  }
}
