import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON

// JSON Schemas that many routes share.

extension JSON {
  /// A password that is to be one. The upper bound is one of bytes: one with fewer characters may still be too long.
  static func newPasswordSchema(_ rules: PasswordRules) -> JSON {
    [
      "type": "string", "format": "password", "minLength": JSON(rules.minimumCharacters),
      "maxLength": JSON(rules.maximumBytes),
    ]
  }
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
