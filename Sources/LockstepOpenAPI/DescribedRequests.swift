import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore

// The parameters that routes share.

extension RouteParameter {
  /// The parameters of a read of a user's state: for a past state, a wait and a precondition.
  package static let reading = [at] + waiting + [ifMatchOfRead, ifNoneMatch, newEnough]
  package static let waiting = [wait, prefer]
  /// The parameters of a write: preconditions and an idempotency key.
  package static let writing = [ifMatch, ifNoneMatchOfWrite, idempotencyKey]
  static let pages = [limit, after, prefix, `where`, sort]

  package static let at = query(
    "at",
    "Shows the resource as it was at this cursor, if the server still has that history.",
    .cursorSchema
  )

  package static let wait = query(
    "wait",
    "Long poll: how many seconds to wait for a change. The server shortens a time above its maximum. A request only "
      + "waits if it has If-None-Match or since. This parameter overrides Prefer.",
    ["type": "integer", "minimum": 0]
  )

  package static let prefer = header(
    "Prefer",
    "`wait=<seconds>` has the effect of the parameter `wait` (RFC 7240). The server ignores other preferences.",
    ["type": "string", "examples": ["wait=30"]]
  )

  package static let newEnough = header(
    "Cursor",
    "A cursor of the user's state. The response shows a state that is at least as new. If that state does not arrive "
      + "within a second, the response is 503.",
    .cursorSchema
  )

  package static let ifNoneMatch = header(
    "If-None-Match",
    "304 if the resource has one of these entity tags.",
    .tagsSchema
  )

  static let ifNoneMatchOfWrite = RouteParameter(
    "If-None-Match",
    in: .header,
    "`*`: write only if the resource does not exist. Entity tags: write only if it has none of them. Otherwise 412.",
    schema: .tagsSchema,
    sharedName: "If-None-Match-of-a-write"
  )

  package static let ifMatchOfRead = RouteParameter(
    "If-Match",
    in: .header,
    "Entity tags: 412 if the resource has none of them. The server compares it before If-None-Match.",
    schema: .tagsSchema,
    sharedName: "If-Match-of-a-read"
  )

  package static let ifMatch = header(
    "If-Match",
    "Entity tags from ETag: write only if the resource has one of them. `*`: write only if the resource exists. "
      + "Otherwise 412, with the present resource.",
    .tagsSchema
  )

  package static let idempotencyKey = header(
    "Idempotency-Key",
    "A text of 1 to \(IdempotencyKey.maximumBytes) bytes, a new one for each write. If the same write arrives again "
      + "within 24 hours (15 minutes for a screen), the server applies it once and repeats the first response.",
    ["type": "string", "minLength": 1, "maxLength": JSON(IdempotencyKey.maximumBytes)]
  )

  package static let acceptLanguage = header(
    "Accept-Language",
    "The languages that the user prefers, for the texts in the state. The user default `language` comes before them.",
    ["type": "string", "examples": ["de-AT, en;q=0.8"]]
  )

  static let requestID = header(
    "X-Request-Id",
    "An id for the request in the server's log: 1 to \(RequestIDs.longest) visible ASCII characters. Any other value "
      + "is ignored.",
    ["type": "string", "examples": ["7f1c2a"]]
  )

  package static let lastEventID = header("Last-Event-ID", "Resumes an event stream after this event.", .textSchema)

  package static let dryRun = query(
    "dryRun",
    "With `true`, the response tells what the actions would do: their mutations, with the present cursor and revision. "
      + "Nothing is changed, and no Idempotency-Key is recorded.",
    ["type": "boolean", "default": false]
  )

  package static let prefix = query("prefix", "Only elements whose id or key has this prefix.", .textSchema)

  static let `where` = query(
    "where",
    "Only elements that meet this condition: `<path>:<operator>:<value>`, such as `data.done:eq:false`. The parameter "
      + "may occur up to \(ElementQuery.maximumConditions) times, and an element must meet all conditions. A path is "
      + "names of members with dots between them. The operators are `eq`, `ne`, `lt`, `le`, `gt`, `ge`, `in` (a JSON "
      + "array), `has` (an array or a string contains the value) and `prefix`. The value is JSON if it can be parsed, "
      + "otherwise text.",
    [
      "type": "array",
      "items": [
        "type": "string", "pattern": "^[^:]+:(eq|ne|lt|le|gt|ge|in|has|prefix):",
        "examples": ["data.done:eq:false", "title:prefix:A"],
      ],
      "maxItems": JSON(ElementQuery.maximumConditions),
    ]
  )

  static let sort = query(
    "sort",
    "The order: up to \(ElementQuery.maximumSortKeys) paths with commas between them, such as `-data.rating,title`. `-` "
      + "reverses the order of a path. It is false, true, numbers, strings by UTF-8, and last anything else, also after "
      + "`-`. Elements with equal values keep their order.",
    ["type": "string", "pattern": "^[^,]+(,[^,]+)*$", "examples": ["-data.rating,title"]]
  )

  package static let limit = query(
    "limit",
    "The most elements in a page. If there are more, the response field Link refers to the next page.",
    ["type": "integer", "minimum": 1, "maximum": 1_000_000]
  )

  package static let after = query(
    "after",
    "Starts after the element with this id, which must be one of the selected elements.",
    .nameSchema
  )

  package static let suite = RouteParameter(
    "suite",
    in: .path,
    "The name of a suite. A suite without values exists and is empty.",
    schema: .suiteSchema,
    sharedName: "suite"
  )

  /// The name of an element in a path: an id or a key.
  package static func element(_ name: String) -> RouteParameter {
    RouteParameter(name, in: .path, "The element's \(name), percent-encoded.", schema: .nameSchema)
  }

  private static func query(_ name: String, _ summary: String, _ schema: JSON) -> RouteParameter {
    RouteParameter(name, in: .query, summary, schema: schema, sharedName: name)
  }

  private static func header(_ name: String, _ summary: String, _ schema: JSON) -> RouteParameter {
    RouteParameter(name, in: .header, summary, schema: schema, sharedName: name)
  }
}

// JSON Schemas that routes share.

extension JSON {
  package static let addressSchema: JSON = ["type": "string", "format": "uri-reference"]
  package static let nullableTextSchema: JSON = ["type": ["string", "null"]]

  /// The schema of an object with these members, the optional ones last. Other members are allowed.
  package static func schema(
    _ required: KeyValuePairs<String, JSON>,
    optional: KeyValuePairs<String, JSON> = [:]
  ) -> JSON {
    .schema(ofObject: members(required, optional))
  }

  /// The schema of an object in a request. Other members are not allowed.
  package static func closedSchema(
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

  /// The schema of a new password. The server limits bytes, but `maxLength` counts characters.
  package static func newPasswordSchema(_ rules: PasswordRules) -> JSON {
    [
      "type": "string", "format": "password", "minLength": JSON(rules.minimumCharacters),
      "maxLength": JSON(rules.maximumBytes),
    ]
  }
}

/// Schemas that routes refer to by name.
package enum SharedSchema {
  /// A JSON patch (RFC 6902).
  package static let jsonPatch: (String, JSON) = (
    "JSONPatch",
    .arraySchema(of: ["oneOf": .array(operations.map { .reference($0.0) })])
  )

  private static let operations: [(String, JSON)] = [
    ("JSONPatchAdd", .schema(["op": ["enum": ["add", "replace", "test"]], "path": pointer, "value": [:]])),
    ("JSONPatchMove", .schema(["op": ["enum": ["move", "copy"]], "path": pointer, "from": pointer])),
    ("JSONPatchRemove", .schema(["op": ["enum": ["remove"]], "path": pointer])),
  ]

  /// The schemas of a JSON patch and of its operations.
  static let jsonPatches = [String: JSON](uniqueKeysWithValues: [jsonPatch] + operations)

  private static let pointer: JSON = ["type": "string", "pattern": "^(/([^~/]|~[01])*)*$"]

  /// A mutation, as in the journal and in the responses to actions.
  package static let mutation: (String, JSON) = (
    "Mutation",
    .schema([
      "type": ["enum": ["inserted", "modified", "removed", "moved", "set", "cleared"]], "payload": ["type": "object"],
    ])
  )

  package static let results: (String, JSON) = (
    "ActionResults",
    .schema(["cursor": .cursorSchema, "results": .arraySchema(of: .reference(result.0))])
  )

  private static let result: (String, JSON) = (
    "ActionResult", .schema(["mutations": .arraySchema(of: .reference("Mutation"))])
  )

  /// An element of any list. Each module has its own other members.
  package static let listItem: (String, JSON) = (
    "ListItem",
    [
      "type": "object", "properties": ["id": .textSchema], "required": ["id"], "additionalProperties": [:],
    ]
  )

  /// The schemas of the response to actions.
  package static let actionResults = [String: JSON].shared(mutation, result, results)

  // A patch of values is a different type for each media type, so that generated code can choose
  // the media type by the type.

  /// New values by key, each of which replaces a value as a whole.
  package static let changedValues: (String, JSON) = ("ChangedValues", .changedValuesSchema)
  /// A merge patch (RFC 7396) of values.
  package static let mergePatch: (String, JSON) = ("MergePatch", .changedValuesSchema)
  package static let newValues: (String, JSON) = ("NewValues", .newValuesSchema)

  /// The schemas of patches of values.
  package static let valuePatches = jsonPatches.merging([String: JSON].shared(changedValues, mergePatch)) { first, _ in
    first
  }
}

extension [String: JSON] {
  package static func shared(_ schemas: (String, JSON)...) -> [String: JSON] {
    Dictionary(schemas) { first, _ in first }
  }
}
