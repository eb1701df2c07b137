import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON

// JSON Schemas that routes share.

extension JSON {
  static let addressSchema: JSON = ["type": "string", "format": "uri-reference"]
  static let nullableTextSchema: JSON = ["type": ["string", "null"]]

  /// The schema of an object with these members, the optional ones last. It may have others.
  static func schema(
    _ required: KeyValuePairs<String, JSON>,
    optional: KeyValuePairs<String, JSON> = [:]
  ) -> JSON {
    .schema(ofObject: members(required, optional))
  }

  /// The schema of an object in a request, which may have no other members.
  static func closedSchema(
    _ required: KeyValuePairs<String, JSON>,
    optional: KeyValuePairs<String, JSON> = [:]
  ) -> JSON {
    .closedSchema(of: members(required, optional))
  }

  private static func members(
    _ required: KeyValuePairs<String, JSON>,
    _ optional: KeyValuePairs<String, JSON>
  ) -> [SchemaMember] {
    required.map { SchemaMember(name: $0.key, schema: $0.value) }
      + optional.map { SchemaMember(name: $0.key, schema: $0.value, isRequired: false) }
  }

  /// A new password. Its upper bound is in bytes, not characters.
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
        .schema(["op": ["enum": ["add", "replace", "test"]], "path": pointer, "value": [:]]),
        .schema(["op": ["enum": ["move", "copy"]], "path": pointer, "from": pointer]),
        .schema(["op": ["enum": ["remove"]], "path": pointer]),
      ]
    ])
  )

  private static let pointer: JSON = ["type": "string", "pattern": "^(/([^~/]|~[01])*)*$"]

  /// A mutation, as in the journal and in the responses to actions.
  static let mutation: (String, JSON) = (
    "Fact",
    .schema([
      "type": ["enum": ["inserted", "modified", "removed", "moved", "set", "cleared"]], "payload": ["type": "object"],
    ])
  )

  /// The response to actions.
  static let results: (String, JSON) = (
    "Results",
    .schema([
      "cursor": .cursorSchema,
      "results": .arraySchema(of: .schema(["mutations": .arraySchema(of: .reference("Fact"))])),
    ])
  )
}

extension [String: JSON] {
  /// Shared schemas by name.
  static func shared(_ schemas: (String, JSON)...) -> [String: JSON] {
    Dictionary(schemas) { first, _ in first }
  }
}
