import LockstepJSON

// JSON Schemas that many declarations and routes share.
extension JSON {
  package static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

  package static func arraySchema(of items: JSON) -> JSON { ["type": "array", "items": items] }

  package static let cursorSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,256}$"]
  /// The value of `If-Match` and `If-None-Match`: one tag, a list of tags, or `*`.
  package static let tagsSchema: JSON = [
    "type": "string", "pattern": #"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)?$"#,
  ]
  /// An id or a key. The limit is 256 bytes, but JSON Schema counts characters. So the server may
  /// refuse a name that this schema allows.
  package static let nameSchema: JSON = [
    "type": "string", "minLength": 1, "maxLength": 256, "pattern": #"^[^\x00-\x1F\x7F-\x9F]+$"#,
  ]
  package static let suiteSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"]
  package static let timeSchema: JSON = ["type": "string", "format": "date-time"]
  package static let uuidSchema: JSON = ["type": "string", "format": "uuid"]
  package static let passwordSchema: JSON = ["type": "string", "format": "password"]
  package static let textSchema: JSON = ["type": "string"]
  /// Any JSON but null. As a list of types, some generators cannot read it.
  package static let valueSchema: JSON = ["not": ["type": "null"]]
  /// A list as clients get it.
  package static func listSchema(of element: JSON) -> JSON {
    schema(ofCollection: "items", ["type": "array", "items": element])
  }

  /// A map as clients get it.
  package static func mapSchema(of value: JSON) -> JSON {
    schema(ofCollection: "values", ["type": "object", "additionalProperties": value])
  }

  private static func schema(ofCollection name: String, _ content: JSON) -> JSON {
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: name, schema: content),
    ])
  }

  /// An object with keys that clients choose.
  package static let valuesSchema: JSON = ["type": "object", "additionalProperties": .object([:])]
  /// New values by key. `null` removes the key.
  package static let changedValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": .object([:]),
  ]
  /// All values by key. `null` is not allowed, because it means removal.
  package static let newValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": valueSchema,
  ]
}
