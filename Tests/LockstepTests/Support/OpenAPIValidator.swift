import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepMiddleware

/// Compares real responses with a server's OpenAPI document.
final class OpenAPIValidator: Sendable {
  /// The longest body that is compared. A longer one would take long, and short ones have the same
  /// members.
  private static let longestBody = 64 * 1024
  /// Statuses that any route may return: problems of parsing and of the server's condition. The
  /// document describes them as the default response.
  private static let anywhere: Set<Int> = [405, 408, 413, 414, 415, 417, 431, 500, 501, 503, 505]

  /// Fields that frame a message or name the type of its body. The document has no headers for
  /// them.
  private static let ofMessages: Set<String> = [
    "connection", "content-length", "content-type", "date", "transfer-encoding",
  ]

  let document: JSON
  private let tables: RouteTables

  init(_ components: Components) throws {
    document = try JSON(parsing: components.openAPI.document().bytes)
    tables = try #require(components.applications.first).tables
  }

  /// The description of a route.
  func operation(_ route: Route) -> JSON? { document["paths"]?[route.pattern]?[route.method.name.lowercased()] }

  /// The differences between a response and its description. It is empty if there are none, or if
  /// the target has no route.
  func faults(_ response: RawResponse, toMethod method: String, _ target: String) -> [String] {
    guard let route = route(method, target) else { return [] }
    let place = "\(route.method.name) \(route.pattern) \(response.status)"
    guard let operation = operation(route) else {
      // The collection may have been declared after the document was made.
      return isFixed(route) ? ["\(place): the route is not described"] : []
    }
    if response.status == 400, response.text.contains("/problems/malformed-request") { return [] }
    let responses = operation["responses"]
    let anywhere = Self.anywhere.contains(response.status) ? responses?["default"] : nil
    guard let described = responses?[String(response.status)] ?? anywhere else {
      return ["\(place): the status is not described: \(response.text)"]
    }
    let description = resolved(described)
    return (fieldFaults(response, description) + (method == "HEAD" ? [] : bodyFaults(response, description))).map {
      "\(place): \($0)"
    }
  }

  private func isFixed(_ route: Route) -> Bool {
    tables.fixed.router.routes.contains { $0.method == route.method && $0.pattern == route.pattern }
  }

  private func route(_ method: String, _ target: String) -> Route? {
    var parser = RequestParser(limits: Limits())
    let outcome = Array(StubbedServer.request(method, target).utf8).withUnsafeBytes { try? parser.parse($0) }
    guard case .head(let head, _)? = outcome, let found = try? tables.match(head), case .route(let index, _) = found.0
    else { return nil }
    return found.1.router.routes[index]
  }

  private func resolved(_ json: JSON) -> JSON {
    guard let reference = json["$ref"]?.stringValue else { return json }
    return SchemaValidator(document: document).resolve(reference) ?? .null
  }

  private func fieldFaults(_ response: RawResponse, _ description: JSON) -> [String] {
    let described = description["headers"]?.objectValue ?? [:]
    let missing = described.filter { resolved($0.value)["required"] == true && response.field($0.name) == nil }
    let known = Set(described.names.map { $0.lowercased() })
    let unknown = Set(response.fields.map { String($0.prefix { $0 != ":" }).lowercased() })
      .subtracting(known).subtracting(Self.ofMessages).sorted()
    let wrong = described.flatMap { name, field -> [String] in
      guard let text = response.field(name), let schema = resolved(field)["schema"] else { return [] }
      let value = schema["type"] == "integer" ? Int(text).map { JSON($0) } ?? .string(text) : .string(text)
      return SchemaValidator(document: document).faults(value, schema).map { "\(name)\($0)" }
    }
    return missing.map { "the response lacks \($0.name)" } + unknown.map { "\($0) is not described" } + wrong
  }

  private func bodyFaults(_ response: RawResponse, _ description: JSON) -> [String] {
    guard response.field("Content-Encoding") == nil, response.body.count <= Self.longestBody else { return [] }
    guard let content = description["content"] else { return response.body.isEmpty ? [] : ["the response has a body"] }
    let type = response.field("Content-Type").map { String($0.prefix { $0 != ";" }) } ?? "none"
    guard let schema = content[type]?["schema"] else { return ["the type \(type) is not described"] }
    guard type.hasSuffix("json") else { return [] }
    guard let body = try? JSON(parsing: response.body) else { return ["the body is not JSON"] }
    return SchemaValidator(document: document).faults(body, schema)
  }
}
