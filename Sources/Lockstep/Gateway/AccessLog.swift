import HTTP
import JSON

/// A line for every request. The path is in it and the query isn't: people put secrets there.
struct AccessLog: Sendable {
  private let logger: Logger

  init(_ logger: Logger) {
    self.logger = logger
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
        "path": .string(request.head.path),
        "status": .integer(Int64(response.status.code)),
        "bytes": size,
        "microseconds": .integer(nanoseconds / 1000),
      ]
    )
  }
}
