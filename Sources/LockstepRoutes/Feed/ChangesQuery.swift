import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepModules
import LockstepOpenAPI
import LockstepSync

/// The query of a request to the feed. It is a class, because each request that waits holds it, and
/// requests with the same head share it.
final class ChangesQuery: Sendable {
  /// The parameter `collections` may have this many names.
  static let mostNames = 256

  let since: FeedPosition
  let filter: ChangesFeed.Filter
  let wait: WaitPreference?
  let isStream: Bool
  /// Requests with the same text share documents. The text is made once, not for each document.
  private let text: String

  init(since: FeedPosition, _ filter: ChangesFeed.Filter, _ wait: WaitPreference?, isStream: Bool) {
    self.since = since
    self.filter = filter
    self.wait = wait
    self.isStream = isStream
    let names = filter.names.map(\.description).joined(separator: ",")
    switch since {
    case .beginning: text = " \(names)"
    case .now: text = "now \(names)"
    case .cursor(_, let cursor): text = cursor + " " + names
    }
  }

  convenience init(_ request: Request, _ waiting: LongPolling, modules: ModuleSet) throws(Problem) {
    let query = try request.query
    let isStream = request.head.wantsEventStream
    let asked = try query.text("since")
    let lastEvent = isStream ? request.head[.lastEventID].flatMap { $0.isEmpty ? nil : $0 } : nil
    self.init(
      since: try FeedPosition(lastEvent ?? asked),
      try Self.filter(query.text("collections"), modules: modules),
      try waiting.preference(of: request, query),
      isStream: isStream
    )
  }

  /// The applied wait, or `nil` for a query that never waits.
  var appliedWait: WaitPreference? { if case .cursor = since { wait } else { nil } }

  /// The question, with the revision of the registered defaults.
  func question(_ registered: Revision, _ modules: Modules) -> ChangesFeed.Question {
    ChangesFeed.Question(registered: registered, modules: modules.version, text: text)
  }

  /// The same query from `cursor` on. `sent` is the cursor that the client has. Nothing that the
  /// client follows has changed from `sent` to `cursor`.
  func following(_ cursor: Cursor, as sent: Cursor) -> ChangesQuery {
    ChangesQuery(since: .cursor(cursor, text: sent.text), filter, wait, isStream: isStream)
  }

  private static func filter(_ text: String?, modules: ModuleSet) throws(Problem) -> ChangesFeed.Filter {
    guard let text else { return .all }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count <= mostNames else {
      throw Problem(
        .invalidParameter,
        detail: "The parameter “collections” may have at most \(mostNames) names. For all suites, name “defaults”."
      )
    }
    var names: [CollectionName] = []
    for part in parts { names.append(try CollectionName(part, of: modules)) }
    return ChangesFeed.Filter(names)
  }
}

extension CollectionName {
  /// Reads the name of a module or of one collection, which may have been deleted: a client that
  /// follows it must not lose its other collections. Throws `invalid-parameter` if there is none
  /// with this name.
  package init(_ text: Substring, of modules: ModuleSet) throws(Problem) {
    let name = CollectionName(text: text)
    let isSuite = name.module == "defaults" && name.part.map { Suite.fault(of: $0) == nil } ?? true
    guard modules[name.module] != nil || modules.deleted.contains(name.module.exact),
      name.part == nil || (name.module == "defaults" && isSuite)
    else {
      let all = modules.listing.replacing("defaults", with: "defaults/<suite>", maxReplacements: 1)
      throw Problem(.invalidParameter, detail: "There is no collection “\(text)”, only \(all).")
    }
    self = name
  }
}

/// Where the feed and the journal begin: the parameter `since`.
package enum FeedPosition: Sendable {
  /// The longest text that can be a cursor has this many bytes.
  private static let maximumBytes = 256

  /// Without `since`: from the beginning.
  case beginning
  /// `now`: after the last change.
  case now
  /// After a cursor. The cursor is `nil` if the text has the characters of a cursor, but not the
  /// form. Then the client gets a reset.
  case cursor(Cursor?, text: String)

  /// Reads `since`. Throws `invalid-parameter` if the text cannot be a cursor.
  package init(_ since: String?) throws(Problem) {
    switch since {
    case nil: self = .beginning
    case "now": self = .now
    case let since?:
      guard (1...Self.maximumBytes).contains(since.utf8.count), since.utf8.allSatisfy(Self.isCursorByte) else {
        throw Problem(.invalidParameter, detail: "The parameter “since” must be a cursor from a response, or “now”.")
      }
      self = .cursor(Cursor(since), text: since)
    }
  }

  private static func isCursorByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
  }
}

/// The OpenAPI description of `GET /v1/changes`.
struct ChangesDescription {
  let modules: ModuleSet

  var description: RouteDescription {
    RouteDescription(
      "getChanges",
      part: "Changes",
      access: .user,
      parameters: [since, collections] + RouteParameter.waiting + [.lastEventID, .newEnough],
      responses: [
        RouteResponse(
          .ok,
          "The changes from the cursor `since` to the cursor `cursor`. If Accept asks for text/event-stream, a stream "
            + "of events named `changes`. The id of an event is its `cursor`, and its data is such a document.",
          fields: [.cacheControl, .vary, .cursor.sometimes, .revision.sometimes, .preferenceApplied],
          content: [("application/json", .reference("Changes")), ("text/event-stream", .textSchema)]
        )
      ],
      problems: [.invalidParameter, .unauthorized, .tooManyRequests, .overloaded],
      schemas: Self.schemas
    )
  }

  private var since: RouteParameter {
    RouteParameter(
      "since",
      in: .query,
      "The client's cursor. Without `since`, or if the store does not know the cursor, the response has whole "
        + "collections (`reset` is true). With `now`, the response has only the present cursor.",
      schema: .cursorSchema
    )
  }

  private var collections: RouteParameter {
    let names = modules.names.sorted().map { $0 == "defaults" ? #"defaults(/[A-Za-z0-9._-]{1,128})?"# : $0 }
    let name = "(\(names.joined(separator: "|")))"
    return RouteParameter(
      "collections",
      in: .query,
      "Only these collections, separated by commas: names of modules, and suites as `defaults/<suite>`. At most "
        + "\(ChangesQuery.mostNames) names.",
      schema: ["type": "string", "pattern": .string("^\(name)(,\(name))*$")]
    )
  }

  private static let changes = JSON.schema([
    "since": .nullableTextSchema, "cursor": .cursorSchema, "revision": .indexSchema, "reset": ["type": "boolean"],
    "changesets": .arraySchema(of: .reference("Changeset")), "keys": .arraySchema(of: .textSchema),
  ])

  /// The four forms of a changeset, told apart by `kind` and then by their members.
  private static let schemas: [String: JSON] = .shared(
    ("Changes", changes),
    ("Changeset", .oneOf([("list", "ListChangeset"), ("map", "MapChangeset")], by: "kind")),
    ("ListChangeset", ["oneOf": [.reference("ListChanges"), .reference("ListReset")]]),
    ("MapChangeset", ["oneOf": [.reference("MapChanges"), .reference("MapReset")]]),
    (
      "ListChanges",
      collection(
        "list",
        [
          "deletions": .arraySchema(of: .reference("ListDeletion")),
          "insertions": .arraySchema(of: .reference("ListInsertion")),
          "moves": .arraySchema(of: .reference("ListMove")),
          "modifications": .arraySchema(of: .reference("ListModification")),
        ]
      )
    ),
    ("ListReset", collection("list", ["items": .arraySchema(of: item)])),
    ("MapChanges", collection("map", ["set": .valuesSchema, "removed": .arraySchema(of: .textSchema)])),
    ("MapReset", collection("map", ["values": .valuesSchema])),
    ("ListDeletion", .schema(["index": .indexSchema, "id": .textSchema])),
    ("ListInsertion", .schema(["index": .indexSchema, "item": item])),
    ("ListMove", .schema(["from": .indexSchema, "to": .indexSchema, "id": .textSchema])),
    ("ListModification", .schema(["index": .indexSchema, "newIndex": .indexSchema, "item": item])),
    SharedSchema.listItem
  )

  private static let item = JSON.reference(SharedSchema.listItem.0)

  private static func collection(_ kind: String, _ members: KeyValuePairs<String, JSON>) -> JSON {
    .schema(
      ofObject: [
        SchemaMember(name: "collection", schema: .textSchema),
        SchemaMember(name: "kind", schema: ["const": .string(kind)]),
      ] + members.map { SchemaMember(name: $0.key, schema: $0.value) }
    )
  }
}
