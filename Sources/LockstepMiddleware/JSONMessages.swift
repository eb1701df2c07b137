import LockstepHTTP
import LockstepJSON

/// The type of a request's body. Only some `PATCH` routes treat patches differently from `json`.
package enum BodyType: String {
  case json
  case mergePatch
  case jsonPatch

  package init(of head: RequestHead) throws(Problem) {
    // Nearly all clients send exactly `application/json`.
    guard let field = head[.contentType], field != "application/json" else {
      self = .json
      return
    }
    let name = field.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    switch name {
    case "application/merge-patch+json": self = .mergePatch
    case "application/json-patch+json": self = .jsonPatch
    // `curl -d` sends `application/x-www-form-urlencoded` by default.
    case "", "application/json", "application/x-www-form-urlencoded": self = .json
    case _ where name.hasSuffix("+json"): self = .json
    default:
      throw Problem(
        .unsupportedMediaType,
        detail: "Bodies of the type \(name) are not supported. Send application/json."
      )
    }
  }
}

extension JSON {
  /// Reads a body. Throws `malformed-json`, or `validation-failed` for a number out of range.
  package init(body: [UInt8]) throws(Problem) {
    do throws(JSONParseError) {
      try self.init(parsing: body)
    } catch {
      guard error.isMalformed else {
        throw Problem(.validationFailed, errors: [.init(pointer: "", detail: error.description)])
      }
      let detail = body.isEmpty ? "The body is empty; it must be JSON." : "The body is not JSON: \(error.description)"
      throw Problem(.malformedJSON, detail: detail)
    }
  }
}

extension Request {
  /// Handles the request with its body, at once if the body has been received already.
  package func withBody(_ respond: @escaping @Sendable ([UInt8]) throws -> HandlerResult) throws -> HandlerResult {
    if case .bytes(let bytes) = body { return try respond(bytes) }
    return .async { [body] in try respond(try await body.collect()) }
  }
}

extension HeaderFields {
  package init(_ fields: KeyValuePairs<FieldName, String>) {
    self.init()
    for (name, value) in fields { append(name, value) }
  }
}

extension Response {
  /// A JSON response. By default, caches must revalidate it before each use.
  package static func json(_ value: JSON, status: Status = .ok, cacheControl: String = "no-cache") -> Response {
    var fields = HeaderFields([.contentType: "application/json", .cacheControl: cacheControl])
    fields.append(contentsOf: .forBrowsers)
    return Response(status: status, fields: fields, body: .bytes(value.encoded()))
  }
}
