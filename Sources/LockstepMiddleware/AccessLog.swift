import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging

/// Logs a line for each request, and for each refusal of the HTTP server. The line of a request has
/// the path without ids of screens. It does not have the query, because clients put secrets there.
package struct AccessLog: Sendable {
  private let logger: Logger

  package init(_ logger: Logger) {
    self.logger = logger
  }

  /// Logs a refusal of the HTTP server, without anything that the client sent.
  func record(_ refusal: ServerRefusal) {
    logger.log(
      .info,
      "refused",
      [
        "client": .string(refusal.peer.host),
        "status": .integer(Int64(refusal.kind.status.code)),
        "reason": .string(refusal.kind.slug),
      ]
    )
  }

  /// A path without the id of a screen, because the id of a login screen gives access to a token.
  private static func withoutSecrets(_ path: String) -> String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count > 4, parts[1] == "v1", parts[2] == "reactors" else { return path }
    parts[4] = "{id}"
    return parts.joined(separator: "/")
  }

  func record(_ request: Request, _ response: Response, nanoseconds: Int64) {
    var size: JSON = .integer(0)
    let isHead = request.head.method == .head
    switch response.body {
    case .none: break
    case .bytes(let bytes): if !isHead { size = .integer(Int64(bytes.count)) }
    case .pieces(let pieces): if !isHead { size = .integer(Int64(pieces.count)) }
    case .stream: size = .null
    }
    logger.log(
      .info,
      "request",
      [
        "client": .string(request.peer.host),
        "method": .string(request.head.method.name),
        "path": .string(Self.withoutSecrets(request.head.path)),
        "status": .integer(Int64(response.status.code)),
        "bytes": size,
        "microseconds": .integer(nanoseconds / 1000), "requestId": request.id.map(JSON.string) ?? .null,
      ]
    )
  }
}
