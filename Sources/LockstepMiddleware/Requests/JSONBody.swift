import LockstepHTTP
import LockstepJSON

/// What the body of a request says it is. Only a `PATCH` whose resource can be patched tells one kind of JSON from another;
/// everywhere else JSON is JSON.
package enum BodyType: String {
  case json
  case mergePatch
  case jsonPatch

  /// The type of a request's body. Throws `unsupported-media-type` for one that isn't read.
  package init(of head: RequestHead) throws(Problem) {
    guard let field = head[.contentType] else {
      self = .json
      return
    }
    // What nearly everybody sends needs no taking apart.
    if field == "application/json" {
      self = .json
      return
    }
    let name = field.prefix { $0 != ";" }.filter { !$0.isWhitespace }.lowercased()
    switch name {
    case "application/merge-patch+json": self = .mergePatch
    case "application/json-patch+json": self = .jsonPatch
    // What `curl -d` sends where nobody says otherwise.
    case "", "application/json", "application/x-www-form-urlencoded": self = .json
    case _ where name.hasSuffix("+json"): self = .json
    default:
      throw Problem(.unsupportedMediaType, detail: "A body of the type \(name) isn't read; send application/json.")
    }
  }
}

extension JSON {
  /// Reads the body of a request. Throws `malformed-json`, or `validation-failed` for a number that can't be kept.
  package init(body: [UInt8]) throws(Problem) {
    do throws(JSONParseError) {
      try self.init(parsing: body)
    } catch {
      guard error.isMalformed else {
        throw Problem(.validationFailed, errors: [.init(pointer: "", detail: error.description)])
      }
      let detail = body.isEmpty ? "The body is empty; it must be JSON." : "The body isn't JSON: \(error.description)"
      throw Problem(.malformedJSON, detail: detail)
    }
  }
}

extension Request {
  /// Answers with the body: at once where it has come already.
  package func withBody(_ answer: @escaping @Sendable ([UInt8]) throws -> HandlerResult) throws -> HandlerResult {
    if case .bytes(let bytes) = body { return try answer(bytes) }
    return .async { [body] in try answer(try await body.collect()) }
  }
}
