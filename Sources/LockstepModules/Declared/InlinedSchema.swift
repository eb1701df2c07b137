import LockstepJSON

/// A declared schema without references, for the catalogue and `openapi.json`. There it stands inside
/// other schemas, where `#/$defs/…` would mean another place.
///
/// A recursive reference, and one that would make the schema too large, becomes the schema of any
/// value. So the description is true, but may allow more than the server does.
struct InlinedSchema {
  private static let longest = 64 * 1024
  private static let deepest = 64

  private let definitions: JSONObject
  /// How many bytes may still be inlined.
  private var rest = Self.longest
  private var open: [String] = []

  static func json(of schema: JSON) -> JSON {
    var inlined = InlinedSchema(definitions: schema["$defs"]?.objectValue ?? JSONObject())
    return inlined.inlined(schema, depth: 0)
  }

  private init(definitions: JSONObject) { self.definitions = definitions }

  private mutating func inlined(_ json: JSON, depth: Int) -> JSON {
    if depth > Self.deepest { return [:] }
    switch json {
    case .array(let elements): return .array(elements.map { inlined($0, depth: depth + 1) })
    case .object(let object):
      var copy = JSONObject()
      for (name, value) in object {
        switch name {
        case "$defs", "$schema", "$comment", "$ref": continue
        // Not schemas: their members may have any names.
        case "const", "default", "enum", "examples": copy[name] = value
        default: copy[name] = inlined(value, depth: depth + 1)
        }
      }
      guard let target = object["$ref"]?.stringValue.flatMap(target) else { return .object(copy) }
      let resolved = resolved(target, depth: depth)
      if copy.isEmpty { return resolved }
      return ["allOf": [resolved, .object(copy)]]
    default: return json
    }
  }

  private mutating func resolved(_ name: String, depth: Int) -> JSON {
    guard let definition = definitions[name], !open.containsBytes(of: name) else { return [:] }
    rest -= definition.encodedByteCount
    guard rest > 0 else { return [:] }
    open.append(name)
    defer { open.removeLast() }
    return inlined(definition, depth: depth + 1)
  }

  /// The name in `#/$defs/<name>`.
  private func target(_ reference: String) -> String? {
    let start = "#/$defs/"
    guard reference.hasPrefix(start) else { return nil }
    let token = reference.dropFirst(start.count).replacing("~1", with: "/").replacing("~0", with: "~")
    return String(token)
  }
}
