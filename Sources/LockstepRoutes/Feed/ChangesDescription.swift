import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// The OpenAPI description of `GET /v1/changes`.
struct ChangesDescription {
  let modules: Set<String>

  var description: RouteDescription {
    RouteDescription(
      "getChanges",
      part: "Changes",
      access: .user,
      parameters: [since, collections] + RouteParameter.waiting + [.lastEventID],
      answers: [
        RouteResponse(
          .ok,
          "The difference between the states at since and at cursor. If Accept asks for text/event-stream, a stream of "
            + "events named changes: their id is the cursor, their data the same document.",
          fields: [.cacheControl, .vary, .cursor.sometimes, .preferenceApplied],
          content: [
            ("application/json", .reference("Changes")), ("text/event-stream", .textSchema),
          ]
        )
      ],
      problems: [.invalidParameter, .unauthorized, .tooManyRequests, .overloaded],
      schemas: ["Changes": Self.changes, "Changeset": Self.changeset]
    )
  }

  private var since: RouteParameter {
    RouteParameter(
      "since",
      in: .query,
      "The client's cursor. Without it, or if the store does not know it, the response has whole states (reset). `now` gives "
        + "the present cursor and nothing else.",
      schema: .cursorSchema
    )
  }

  private var collections: RouteParameter {
    let names = modules.sorted().map { $0 == "defaults" ? #"defaults(/[A-Za-z0-9._-]{1,128})?"# : $0 }
    let name = "(\(names.joined(separator: "|")))"
    return RouteParameter(
      "collections",
      in: .query,
      "Only these collections, separated by commas: names of modules, and suites as defaults/<suite>.",
      schema: ["type": "string", "pattern": .string("^(\(name)(,\(name))*)?$")]
    )
  }

  private static let changes = JSON.schema([
    "since": .nullableTextSchema, "cursor": .cursorSchema, "reset": ["type": "boolean"],
    "changesets": .arraySchema(of: .reference("Changeset")),
  ])

  private static let changeset: JSON = [
    "oneOf": [
      collection("list", ["items": .arraySchema(of: item)]), collection("map", ["values": .valuesSchema]),
      collection(
        "list",
        [
          "deletions": places(["index": .indexSchema, "id": .textSchema]),
          "insertions": places(["index": .indexSchema, "item": item]),
          "moves": places(["from": .indexSchema, "to": .indexSchema, "id": .textSchema]),
          "modifications": places(["index": .indexSchema, "newIndex": .indexSchema, "item": item]),
        ]
      ), collection("map", ["set": .valuesSchema, "removed": .arraySchema(of: .textSchema)]),
    ]
  ]

  private static let item: JSON = ["type": "object", "required": ["id"]]

  private static func places(_ members: KeyValuePairs<String, JSON>) -> JSON { .arraySchema(of: .schema(members)) }

  private static func collection(_ kind: String, _ members: KeyValuePairs<String, JSON>) -> JSON {
    .schema(
      ofObject: [
        SchemaMember(name: "collection", schema: .textSchema),
        SchemaMember(name: "kind", schema: ["const": .string(kind)]),
      ] + members.map { SchemaMember(name: $0.key, schema: $0.value) }
    )
  }
}
