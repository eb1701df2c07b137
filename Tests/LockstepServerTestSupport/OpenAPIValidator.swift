import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepMiddleware
@testable import LockstepRoutes
@testable import LockstepStateTestSupport
@testable import LockstepOpenAPI

/// Compares real responses with the descriptions in a server's OpenAPI document.
///
/// A document of all routes takes long to make, so each route that a test uses gets a document of
/// its own.
final class OpenAPIValidator: Sendable {
  /// Statuses that any route may return: problems of parsing and of the server's condition. The
  /// document describes them as the default response.
  private static let anywhere: Set<Int> = [405, 408, 413, 414, 415, 417, 431, 500, 501, 503, 505]

  private let tables: RouteTables
  /// The schemas that the routes define, by name.
  private let schemas: [String: JSON]
  /// By the method and the pattern of the route.
  private let documents = LockedState<[String: JSON]>([:])
  /// By the route, the status, and the field or the type of the body.
  private let compiled = LockedState<[String: DocumentedSchema]>([:])

  init(_ components: Components) throws {
    tables = try #require(components.applications.first).tables
    schemas = components.openAPI.described().reduce(into: [:]) { schemas, route in
      schemas.merge(route.description?.schemas ?? [:]) { first, _ in first }
    }
  }

  private func document(of route: Route) -> JSON {
    documents.withLock { documents in
      let name = "\(route.method.name) \(route.pattern)"
      if let made = documents[name] { return made }
      let described = route.description.map { route.described(self.withNeededSchemas($0)) }
      let document = OpenAPIDocument.json(of: [described ?? route])
      documents[name] = document
      return document
    }
  }

  /// The description with all schemas that it refers to. Another route may define them.
  private func withNeededSchemas(_ description: RouteDescription) -> RouteDescription {
    var description = description
    let content = description.responses.flatMap(\.content).map(\.schema)
    var needed = content + description.schemas.values
    while let schema = needed.popLast() {
      for name in Self.references(in: schema) where description.schemas[name] == nil {
        guard let found = schemas[name] else { continue }
        description.schemas[name] = found
        needed.append(found)
      }
    }
    return description
  }

  /// The names of the schemas that a schema refers to.
  private static func references(in schema: JSON) -> [String] {
    if let elements = schema.arrayValue { return elements.flatMap { references(in: $0) } }
    guard let members = schema.objectValue else { return [] }
    let parts = members.flatMap { references(in: $0.value) }
    let own = schema["$ref"]?.stringValue.flatMap { $0.split(separator: "/").last }.map { [String($0)] }
    return parts + (own ?? [])
  }

  /// The differences between a response and its description. It is empty if there are none, or if
  /// the target has no route.
  func faults(_ response: RawResponse, toMethod method: String, _ target: String) throws -> [String] {
    guard let route = route(method, target) else { return [] }
    let place = "\(route.method.name) \(route.pattern) \(response.status)"
    let document = document(of: route)
    guard let operation = document["paths"]?[route.pattern]?[route.method.name.lowercased()] else {
      return ["\(place): the route is not described"]
    }
    if response.status == 400, response.text.contains("/problems/malformed-request") { return [] }
    let responses = operation["responses"]
    let anywhere = Self.anywhere.contains(response.status) ? responses?["default"] : nil
    guard let described = responses?[String(response.status)] ?? anywhere else {
      return ["\(place): the status is not described: \(response.text)"]
    }
    let description = Self.resolved(described, in: document)
    let faults = try fieldFaults(response, description, of: place, in: document)
    return (faults + (method == "HEAD" ? [] : try bodyFaults(response, description, of: place, in: document))).map {
      "\(place): \($0)"
    }
  }

  private func route(_ method: String, _ target: String) -> Route? {
    var parser = RequestParser(limits: Limits())
    let outcome = Array(StubbedServer.request(method, target).utf8).withUnsafeBytes { try? parser.parse($0) }
    guard case .head(let head, _)? = outcome, let found = try? tables.match(head), case .route(let index, _) = found.0
    else { return nil }
    return found.1.router.routes[index]
  }
}

extension OpenAPIValidator {
  /// The longest body that is compared. A longer one would take long, and short ones have the same
  /// members.
  private static let longestBody = 64 * 1024
  /// Fields that frame a message or name the type of its body. The document has no headers for
  /// them.
  private static let ofMessages: Set<String> = [
    "connection", "content-length", "content-type", "date", "transfer-encoding",
  ]

  private static func resolved(_ json: JSON, in document: JSON) -> JSON {
    guard let reference = json["$ref"]?.stringValue else { return json }
    return document.referenced(by: reference) ?? .null
  }

  /// The compiled schema. Compiles each schema of a document once: `place` and `part` name it.
  private func compiled(
    _ schema: JSON,
    of place: String,
    _ part: String,
    in document: JSON
  ) throws -> DocumentedSchema {
    try compiled.withLock { compiled in
      let name = "\(place) \(part)"
      if let made = compiled[name] { return made }
      let made = try DocumentedSchema(schema, in: document)
      compiled[name] = made
      return made
    }
  }

  private func fieldFaults(
    _ response: RawResponse,
    _ description: JSON,
    of place: String,
    in document: JSON
  ) throws -> [String] {
    let described = description["headers"]?.objectValue ?? [:]
    let known = Set(described.names.map { $0.lowercased() })
    let unknown = Set(response.fields.map { String($0.prefix { $0 != ":" }).lowercased() })
      .subtracting(known).subtracting(Self.ofMessages).sorted()
    var faults = unknown.map { "\($0) is not described" }
    for (name, field) in described {
      let field = Self.resolved(field, in: document)
      guard let text = response.field(name) else {
        if field["required"] == true { faults.append("the response lacks \(name)") }
        continue
      }
      guard let schema = field["schema"] else { continue }
      let value = schema["type"] == "integer" ? Int(text).map { JSON($0) } ?? .string(text) : .string(text)
      faults += try compiled(schema, of: place, name, in: document).faults(value).map { "\(name)\($0)" }
    }
    return faults
  }

  private func bodyFaults(
    _ response: RawResponse,
    _ description: JSON,
    of place: String,
    in document: JSON
  ) throws -> [String] {
    guard response.field("Content-Encoding") == nil, response.body.count <= Self.longestBody else { return [] }
    guard let content = description["content"] else { return response.body.isEmpty ? [] : ["the response has a body"] }
    let type = response.field("Content-Type").map { String($0.prefix { $0 != ";" }) } ?? "none"
    guard let schema = content[type]?["schema"] else { return ["the type \(type) is not described"] }
    guard type.hasSuffix("json") else { return [] }
    guard let body = try? JSON(parsing: response.body) else { return ["the body is not JSON"] }
    return try compiled(schema, of: place, type, in: document).faults(body)
  }
}
