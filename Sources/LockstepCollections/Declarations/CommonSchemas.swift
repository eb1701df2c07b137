import LockstepJSON

// JSON Schemas that many declarations and routes share.

extension JSON {
  /// Stands for a schema that routes share, by its name.
  package static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

  /// The schema of a list.
  package static func arraySchema(of items: JSON) -> JSON { ["type": "array", "items": items] }

  package static let cursorSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,256}$"]
  /// The value of `If-Match` and `If-None-Match`: one tag, a list of tags, or `*`.
  package static let tagsSchema: JSON = [
    "type": "string", "pattern": #"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)?$"#,
  ]
  /// An id or a key. JSON Schema counts characters where the bound is one of bytes: a longer one may be refused.
  package static let nameSchema: JSON = [
    "type": "string", "minLength": 1, "maxLength": 256, "pattern": #"^[^\x00-\x1F\x7F-\x9F]+$"#,
  ]
  package static let suiteSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"]
  package static let timeSchema: JSON = ["type": "string", "format": "date-time"]
  package static let uuidSchema: JSON = ["type": "string", "format": "uuid"]
  package static let passwordSchema: JSON = ["type": "string", "format": "password"]
  package static let textSchema: JSON = ["type": "string"]
  /// A JSON value that isn't null.
  package static let valueSchema: JSON = ["type": ["boolean", "number", "string", "array", "object"]]
  /// Objects whose members clients name.
  package static let valuesSchema: JSON = ["type": "object", "additionalProperties": .object([:])]
  /// The same as clients send them; null takes a value away.
  package static let changedValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": .object([:]),
  ]
  /// The same where nothing is there to be taken away.
  package static let newValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": valueSchema,
  ]
}
