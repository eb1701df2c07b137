import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The OpenAPI document describes exactly what the server serves", .timeLimit(.minutes(10)))
struct OpenAPITests {
  /// Runs `body` with a server that has additional modules, its OpenAPI document and its routes.
  private static func run(_ body: (ServerFixture, JSON, [Route]) async throws -> Void) async throws {
    try await ServerFixture.run(modules: [.notes, .scores]) { users in
      let server = try #require(users.running.withLock { $0 })
      let response = try await users.ask("GET", "/openapi.json")
      #expect(response.status == 200)
      let application = try #require(server.components.applications.first)
      // The pages of links in mails are for browsers.
      let routes = application.tables.fixed.router.routes.filter { !$0.pattern.hasPrefix("/account/") }
      try await body(users, response.json, routes)
    }
  }

  private static func names(_ path: JSON) -> [String] { path.objectValue?.names ?? [] }

  @Test("It has every route of the table with a unique name, and no other route")
  func routes() async throws {
    try await Self.run { _, document, routes in
      let paths = try #require(document["paths"]?.objectValue)
      let described = paths.flatMap { path, item in Self.names(item).map { "\($0) \(path)" } }
      #expect(described.sorted() == routes.map { "\($0.method.name.lowercased()) \($0.pattern)" }.sorted())
      let operations = paths.flatMap { ($0.value.objectValue ?? [:]).map(\.value) }
      let names = operations.compactMap { $0["operationId"]?.stringValue }
      #expect(names.count == routes.count)
      #expect(Set(names).count == names.count)
      for route in routes {
        let operation = document["paths"]?[route.pattern]?[route.method.name.lowercased()]
        #expect(operation?["summary"] == .string(route.summary))
      }
    }
  }

  @Test("Every reference leads to a component, and every component is used")
  func references() async throws {
    try await Self.run { _, document, _ in
      let references = Self.references(in: document)
      for reference in references {
        #expect(document.referenced(by: reference) != nil, "\(reference)")
      }
      for (kind, shared) in try #require(document["components"]?.objectValue) where kind != "securitySchemes" {
        let unused = Self.names(shared).filter { !references.contains("#/components/\(kind)/\($0)") }
        #expect(unused == [], "\(kind)")
      }
    }
  }

  private static func references(in json: JSON) -> Set<String> {
    var found: Set<String> = []
    if let reference = json["$ref"]?.stringValue { found.insert(reference) }
    for (_, value) in json.objectValue ?? [:] { found.formUnion(references(in: value)) }
    for value in json.arrayValue ?? [] { found.formUnion(references(in: value)) }
    return found
  }

  @Test("The described parameters are those of the path, and a route that requires a token says so")
  func parameters() async throws {
    try await Self.run { users, document, routes in
      for route in routes {
        let operation = try #require(document["paths"]?[route.pattern]?[route.method.name.lowercased()])
        let described = (operation["parameters"]?.arrayValue ?? []).map { parameter -> JSON in
          guard let reference = parameter["$ref"]?.stringValue else { return parameter }
          return document.referenced(by: reference) ?? .null
        }
        let inPath = described.filter { $0["in"] == "path" }.compactMap { $0["name"]?.stringValue }
        let parts = route.pattern.split(separator: "/").filter { $0.hasPrefix("{") }
        #expect(inPath == parts.map { String($0.dropFirst().dropLast()) }, "\(route.pattern)")
        #expect(inPath.count == described.filter { $0["required"] == true }.count)
        guard operation["security"] == [["user": []]] else { continue }
        let target = route.pattern.replacing("{", with: "").replacing("}", with: "")
        let response = try await users.ask(route.method.name, target, body: Array("{}".utf8))
        #expect(response.status == 401, "\(route.method.name) \(target)")
      }
    }
  }

  @Test("It has what modules and screens declare")
  func declarations() async throws {
    try await Self.run { _, document, _ in
      let schemas = try #require(document["components"]?["schemas"])
      let note = Self.names(schemas["NotesElement"]?["properties"] ?? .null)
      #expect(Set(note) == ["id", "text", "madeAt"])
      #expect(
        schemas["ScoresState"]?["properties"]?["values"]?["additionalProperties"]?["$ref"]
          == "#/components/schemas/ScoresElement"
      )
      let login = Self.names(schemas["LoginScreen"]?["properties"] ?? .null)
      #expect(login.contains("isLoginEnabled"))
      let actions = try #require(schemas["Action"]?["oneOf"]?.arrayValue).compactMap { $0["$ref"]?.stringValue }
      let modules = ["Defaults", "Favorites", "Notes", "Profile", "Scores"]
      #expect(actions == modules.map { "#/components/schemas/\($0)Action" })
      for (type, name) in [("add", "FavoritesActionAdd"), ("toggle", "FavoritesActionToggle")] {
        #expect(
          schemas["FavoritesAction"]?["discriminator"]?["mapping"]?[type] == .string("#/components/schemas/\(name)")
        )
        #expect(schemas[name]?["properties"]?["type"]?["const"] == .string(type))
      }
    }
  }

  @Test("Actions of modules may have ifMatch, and actions of screens may not, as the server says too")
  func conditions() async throws {
    try await Self.run { users, document, _ in
      let schemas = try #require(document["components"]?["schemas"]?.objectValue)
      let inputs = schemas.filter { $0.name.hasPrefix("ScreenInput") && $0.name != "ScreenInput" }
      #expect(!inputs.isEmpty)
      for (name, schema) in inputs {
        let members = Self.names(schema["properties"] ?? .null)
        #expect(!members.contains("ifMatch"), "\(name)")
      }
      let members = Self.names(schemas["FavoritesActionAdd"]?["properties"] ?? .null)
      #expect(members.contains("ifMatch"))
      let phone = try await users.signUp()
      let screen = try await phone.open("login")
      let refused = try await screen.act(#"{"type":"setActive","payload":{"isActive":true},"ifMatch":"a"}"#)
      #expect(refused.status == 422 && refused.text.contains("ifMatch"), "\(refused.text)")
    }
  }

  @Test("The four forms of a changeset are components, and `kind` tells those of lists from those of maps")
  func changesets() async throws {
    try await ServerFixture.run { users in
      let schemas = try #require(try users.openAPI()["components"]?["schemas"])
      let byKind = schemas["Changeset"]?["discriminator"]
      #expect(byKind?["propertyName"] == "kind")
      let forms: [(kind: String, whole: String, members: String, reset: String)] = [
        ("list", "items", "deletions insertions moves modifications", "List"), ("map", "values", "set removed", "Map"),
      ]
      for (kind, whole, members, prefix) in forms {
        #expect(byKind?["mapping"]?[kind] == .string("#/components/schemas/\(prefix)Changeset"))
        #expect(
          schemas["\(prefix)Changeset"]?["oneOf"]
            == [
              ["$ref": .string("#/components/schemas/\(prefix)Changes")],
              ["$ref": .string("#/components/schemas/\(prefix)Reset")],
            ]
        )
        for (name, own) in [("\(prefix)Changes", members), ("\(prefix)Reset", whole)] {
          #expect(schemas[name]?["properties"]?["kind"] == ["const": .string(kind)])
          let required = ["collection", "kind"] + own.split(separator: " ").map(String.init)
          #expect(schemas[name]?["required"] == .array(required.map { .string($0) }))
        }
      }
    }
  }

  @Test("The names of components are usable as names of types, also if modules have names that are alike")
  func names() async throws {
    let own = ["problem", "action", "shopping-list", "shoppingList", "favorites-", "signUp", "listFavorites"]
    var nouns = UserModule.notes(named: "nouns")
    nouns.noun = ElementNoun(one: "Session", many: "Sessions")
    try await ServerFixture.run(modules: own.map { .notes(named: $0) } + [nouns]) { users in
      let document = try users.openAPI()
      let components = try #require(document["components"])
      let names = Self.names(components["schemas"] ?? .null)
      for name in names + Self.names(components["responses"] ?? .null) {
        #expect(name.wholeMatch(of: /[A-Z][A-Za-z0-9]*/) != nil, "\(name)")
      }
      #expect(Set(names.map { $0.lowercased() }).count == names.count)
      let operations = (document["paths"]?.objectValue ?? [:]).flatMap { ($0.value.objectValue ?? [:]).map(\.value) }
        .compactMap { $0["operationId"]?.stringValue }
      #expect(operations.allSatisfy { $0.wholeMatch(of: /[a-z][A-Za-z0-9]*/) != nil })
      #expect(Set(operations.map { $0.lowercased() }).count == operations.count)
      for suffix in ["State", "Element", "PlacedElement", "Action"] {
        #expect(names.contains("ShoppingList\(suffix)") && names.contains("ShoppingList2\(suffix)"))
        #expect(names.contains("Favorites\(suffix)") && names.contains("Favorites2\(suffix)"))
      }
      // No module changes a schema of Lockstep's own.
      try await ServerFixture.run { users in
        let plain = try #require(try users.openAPI()["components"]?["schemas"]?.objectValue)
        for (name, schema) in plain where name != "Action" && name != "Export" {
          #expect(components["schemas"]?[name] == schema, "\(name)")
        }
      }
    }
  }

  @Test("No schema has an object inside that is not a component")
  func separateObjects() async throws {
    try await Self.run { _, document, _ in
      for (name, schema) in try #require(document["components"]?["schemas"]?.objectValue) {
        let parts = (schema.objectValue ?? [:]).filter { $0.name != "properties" && $0.name != "allOf" }.map(\.value)
        let members = (schema["properties"]?.objectValue ?? [:]).map(\.value)
        let inside = (parts + members).flatMap(Self.objects)
        #expect(inside == [], "\(name)")
      }
    }
  }

  /// The schemas of objects with members in a schema.
  private static func objects(in json: JSON) -> [JSON] {
    let inside = (json.objectValue ?? [:]).map(\.value) + (json.arrayValue ?? [])
    let isObject = json["type"] == "object" && json["properties"]?.objectValue?.isEmpty == false
    return (isObject ? [json] : []) + inside.flatMap(objects)
  }

  @Test("The document describes every field of a response, with all optional features switched on")
  func fields() async throws {
    // The fixture compares every response with the document.
    try await ServerFixture.run({
      $0.corsOrigins = ["https://app.example"]
      $0.tokenRate = RateLimit(requests: 40, seconds: 60, burst: 40)
      $0.addressRate = RateLimit(requests: 4000, seconds: 60, burst: 4000)
    }) { users in
      let phone = try await users.signUp()
      for number in 0..<20 { try await phone.addFavorites("a favorite with a long name, the number \(number)") }
      let more = ["X-Request-Id: mine", "Origin: https://app.example", "Accept-Encoding: gzip"]
      let (open, own) = (
        ["/", "/problems", "/openapi.json", "/lockstep.js", "/readyz", "/metrics"], ["/v1/favorites", "/v1/journal"]
      )
      for path in open + own + ["/v1/favorites/none", "/v1/me"] {
        let response = try await phone.get(path, more)
        #expect(response.field("X-Request-Id") == "mine" && response.field("Vary") != nil)
        #expect(response.field("Access-Control-Allow-Origin") != nil)
        #expect((response.field("RateLimit") != nil) != ["/readyz", "/metrics"].contains(path))
        guard let tag = response.field("ETag") else { continue }
        let again = try await phone.get(path, more + ["If-None-Match: \(tag)"])
        #expect(again.status == 304)
      }
    }
  }

  @Test("It has an ETag, so a client need not load it again")
  func unmodified() async throws {
    try await ServerFixture.run { users in
      let first = try await users.ask("GET", "/openapi.json")
      let tag = try #require(first.field("ETag"))
      let again = try await users.ask("GET", "/openapi.json", ["If-None-Match: \(tag)"])
      #expect(again.status == 304)
      #expect(again.field("ETag") == tag)
      #expect(try await users.ask("GET", "/openapi.json", ["If-None-Match: \"other\""]).body == first.body)
    }
  }

  @Test("A response that differs from its description is detected")
  func faults() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let response = try await phone.get("/v1/favorites")
      let described = try users.description()
      let faults = { (fields: [String], body: String, status: Int) in
        let other = RawResponse(status: status, fields: fields, body: Array(body.utf8))
        return try described.faults(other, toMethod: "GET", "/v1/favorites").map {
          $0.replacing("GET /v1/favorites ", with: "")
        }
      }
      let body = response.text
      #expect(try faults(response.fields, body, 200) == [])
      #expect(try faults(response.fields, body, 201) == ["201: the status is not described: \(body)"])
      #expect(
        try faults(response.fields.filter { !$0.hasPrefix("Cursor") }, body, 200) == ["200: the response lacks Cursor"]
      )
      #expect(try faults(response.fields + ["Location: /"], body, 200) == ["200: location is not described"])
      #expect(try faults(response.fields, body.replacing("count", with: "size"), 200).count == 2)
      #expect(try faults(response.fields, body.replacing("[]", with: #"[{"id":"a"}]"#), 200) != [])
      #expect(
        try faults(response.fields.map { $0.replacing("application/json", with: "text/plain") }, body, 200).count == 1
      )
    }
  }
}
