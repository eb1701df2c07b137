import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging

/// Logs a line for each request, and for each refusal of the HTTP server. The line of a request has
/// the pattern of its route. It has no path, no query and no unknown method, because clients put personal data and
/// secrets there.
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

  /// `path` is the pattern of the request's route.
  func record(_ request: Request, _ path: String, _ response: LoggedResponse, nanoseconds: Int64) {
    logger.log(
      .info,
      "request",
      [
        "client": .string(request.peer.host),
        "method": .string(request.head.method.loggedName),
        "path": .string(path),
        "status": .integer(Int64(response.status.code)),
        "bytes": response.bytes.map { .integer(Int64($0)) } ?? .null,
        "microseconds": .integer(nanoseconds / 1000), "requestId": request.id.map(JSON.string) ?? .null,
      ]
    )
  }
}

/// The parts of a response that the access log contains. This type does not keep the body in memory.
struct LoggedResponse {
  let status: Status
  /// The length of the body that is sent; nil for a stream.
  let bytes: Int?

  init(_ response: Response, to request: Request) {
    status = response.status
    let isHead = request.head.method == .head
    bytes =
      switch response.body {
      case .none: 0
      case .bytes(let bytes): isHead ? 0 : bytes.count
      case .pieces(let pieces): isHead ? 0 : pieces.count
      case .stream: nil
      }
  }
}
