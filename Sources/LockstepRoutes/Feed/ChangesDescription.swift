import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// What is said of `GET /v1/changes`.
struct ChangesDescription {
  let modules: Set<String>

  var description: RouteDescription {
    RouteDescription(
      "getChanges",
      part: "Changes",
      access: .user,
      parameters: [since, collections] + RouteParameter.waiting + [.lastEventID],
      answers: [
        RouteAnswer(
          .ok,
          "What differs now from how it was at since. As a stream of server-sent events, where Accept asks for "
            + "text/event-stream: each event is named changes, its id is the cursor that it leads to, its data the same "
            + "document.",
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
      "The cursor of what the client has. Without it, or where the store doesn't know it, everything is told (reset). `now` "
        + "gives the present cursor and nothing else.",
      schema: .cursorSchema
    )
  }

  private var collections: RouteParameter {
    let names = modules.sorted().map { $0 == "defaults" ? #"defaults(/[A-Za-z0-9._-]{1,128})?"# : $0 }
    let name = "(\(names.joined(separator: "|")))"
    return RouteParameter(
      "collections",
      in: .query,
      "Only these, separated by commas: modules by their names, suites as defaults/<suite>.",
      schema: ["type": "string", "pattern": .string("^(\(name)(,\(name))*)?$")]
    )
  }

  private static var changes: JSON {
    .schema(ofObject: [
      SchemaMember(name: "since", schema: ["type": ["string", "null"]]),
      SchemaMember(name: "cursor", schema: .cursorSchema),
      SchemaMember(name: "reset", schema: ["type": "boolean"]),
      SchemaMember(name: "changesets", schema: .arraySchema(of: .reference("Changeset"))),
    ])
  }

  private static var changeset: JSON {
    [
      "oneOf": [
        collection("list", [SchemaMember(name: "items", schema: .arraySchema(of: item))]),
        collection("map", [SchemaMember(name: "values", schema: .valuesSchema)]),
        collection(
          "list",
          [
            places("deletions", [index("index"), id]), places("insertions", [index("index"), itemMember]),
            places("moves", [index("from"), index("to"), id]),
            places("modifications", [index("index"), index("newIndex"), itemMember]),
          ]
        ),
        collection(
          "map",
          [
            SchemaMember(name: "set", schema: .valuesSchema),
            SchemaMember(name: "removed", schema: .arraySchema(of: .textSchema)),
          ]
        ),
      ]
    ]
  }

  private static let item: JSON = ["type": "object", "required": ["id"]]
  private static let itemMember = SchemaMember(name: "item", schema: item)
  private static let id = SchemaMember(name: "id", schema: .textSchema)

  private static func index(_ name: String) -> SchemaMember { SchemaMember(name: name, schema: .indexSchema) }

  private static func places(_ name: String, _ members: [SchemaMember]) -> SchemaMember {
    SchemaMember(name: name, schema: .arraySchema(of: .schema(ofObject: members)))
  }

  private static func collection(_ kind: String, _ members: [SchemaMember]) -> JSON {
    .schema(
      ofObject: [
        SchemaMember(name: "collection", schema: .textSchema),
        SchemaMember(name: "kind", schema: ["const": .string(kind)]),
      ] + members
    )
  }
}
