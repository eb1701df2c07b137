import LockstepHTTP
import LockstepJSON

// JSON Schemas that many routes share.

extension JSON {
  /// Stands for a schema that routes share, by its name.
  static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

  /// The schema of a list.
  static func arraySchema(of items: JSON) -> JSON { ["type": "array", "items": items] }

  static let cursorSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,256}$"]
  /// What ETag gives, or a list of such, or any.
  static let tagsSchema: JSON = [
    "type": "string", "pattern": #"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)?$"#,
  ]
  /// An id or a key. JSON Schema counts characters where the bound is one of bytes: a longer one may be refused.
  static let nameSchema: JSON = [
    "type": "string", "minLength": 1, "maxLength": 256, "pattern": #"^[^\x00-\x1F\x7F-\x9F]+$"#,
  ]
  static let suiteSchema: JSON = ["type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"]
  static let timeSchema: JSON = ["type": "string", "format": "date-time"]
  static let uuidSchema: JSON = ["type": "string", "format": "uuid"]
  static let passwordSchema: JSON = ["type": "string", "format": "password"]
  /// A password that is to be one. The upper bound is one of bytes: one with fewer characters may still be too long.
  static func newPasswordSchema(_ rules: PasswordRules) -> JSON {
    [
      "type": "string", "format": "password", "minLength": JSON(rules.minimumCharacters),
      "maxLength": JSON(rules.maximumBytes),
    ]
  }
  static let textSchema: JSON = ["type": "string"]
  /// A JSON value that isn't null.
  static let valueSchema: JSON = ["type": ["boolean", "number", "string", "array", "object"]]
  /// Objects whose members clients name.
  static let valuesSchema: JSON = ["type": "object", "additionalProperties": .object([:])]
  /// The same as clients send them; null takes a value away.
  static let changedValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": .object([:]),
  ]
  /// The same where nothing is there to be taken away.
  static let newValuesSchema: JSON = [
    "type": "object", "propertyNames": nameSchema, "additionalProperties": valueSchema,
  ]
}

/// Schemas that routes refer to by name.
enum SharedSchema {
  /// A JSON patch (RFC 6902).
  static let jsonPatch: (String, JSON) = (
    "JSONPatch",
    .arraySchema(of: [
      "oneOf": [
        patchOperation(["add", "replace", "test"], "value", [:]),
        patchOperation(["move", "copy"], "from", pointer),
        patchOperation(["remove"], nil, nil),
      ]
    ])
  )

  private static let pointer: JSON = ["type": "string", "pattern": "^(/([^~/]|~[01])*)*$"]

  private static func patchOperation(_ names: [String], _ member: String?, _ schema: JSON?) -> JSON {
    var members = [
      SchemaMember(name: "op", schema: ["enum": .array(names.map(JSON.string))]),
      SchemaMember(name: "path", schema: pointer),
    ]
    if let member, let schema { members.append(SchemaMember(name: member, schema: schema)) }
    return .schema(ofObject: members)
  }

  /// What did happen, as the journal and the answers to actions tell it.
  static let fact: (String, JSON) = (
    "Fact",
    .schema(ofObject: [
      SchemaMember(
        name: "type",
        schema: ["enum": ["inserted", "modified", "removed", "moved", "set", "cleared"]]
      ),
      SchemaMember(name: "payload", schema: ["type": "object"]),
    ])
  )

  /// The answer to actions.
  static let results: (String, JSON) = (
    "Results",
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(
        name: "results",
        schema: .arraySchema(
          of: .schema(ofObject: [SchemaMember(name: "mutations", schema: .arraySchema(of: .reference("Fact")))])
        )
      ),
    ])
  )
}

extension [String: JSON] {
  /// Shared schemas by their names.
  static func shared(_ schemas: (String, JSON)...) -> [String: JSON] {
    Dictionary(schemas) { first, _ in first }
  }
}
