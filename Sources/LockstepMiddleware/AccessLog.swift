import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging

/// A line for every request, and for what the engine refused before it was one. The path is in it, without the ids of screens; the query isn't:
/// people put secrets there.
package struct AccessLog: Sendable {
  private let logger: Logger

  package init(_ logger: Logger) {
    self.logger = logger
  }

  /// A line for what was no request, or had no room. What came isn't in it, only who and why: it could hold anything.
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

  /// A path without the id of a screen: whoever knows that of a login screen is given the token that it shows.
  private static func withoutSecrets(_ path: String) -> String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count > 4, parts[1] == "v1", parts[2] == "reactors" else { return path }
    parts[4] = "{id}"
    return parts.joined(separator: "/")
  }

  func record(_ request: Request, _ response: Response, nanoseconds: Int64) {
    var size: JSON = .integer(0)
    switch response.body {
    case .none: break
    case .bytes(let bytes): if request.head.method != .head { size = .integer(Int64(bytes.count)) }
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
        "microseconds": .integer(nanoseconds / 1000), "requestId": request.name.map(JSON.string) ?? .null,
      ]
    )
  }
}
