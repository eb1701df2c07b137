import LockstepHTTP
import LockstepHTTPServer
import LockstepMiddleware

/// A response of the administration to an operator's command.
struct AdministrationResponse: Sendable {
  let status: Int
  /// Null if the response has no body.
  let json: JSON

  init(_ response: UnixSocketClient.Response) {
    self.init(status: response.status, body: Array(response.body.utf8))
  }

  init(status: Int, body: [UInt8]) {
    self.status = status
    json = (try? JSON(parsing: body)) ?? .null
  }

  /// Whether a request with the same idempotency key is still running.
  var isKeyInUse: Bool { status == 409 && json["detail"]?.stringValue == Problem.keyInUse.detail }

  /// Whether the server had no place for the connection, or shuts down. It has not begun to run the request.
  var isTurnedAway: Bool {
    status == 503 && [Problem.tooManyConnections, Problem.shuttingDown].contains(json["detail"]?.stringValue ?? "")
  }
}

/// A response of the administration that is no success.
package struct AdministrationRefusal: Error, Sendable, CustomStringConvertible {
  package let status: Int
  /// The failure, and what to do, in sentences.
  package let description: String

  init(_ response: AdministrationResponse) {
    status = response.status
    let faults = response.json["errors"]?.arrayValue?.compactMap { $0["detail"]?.stringValue } ?? []
    description =
      faults.isEmpty
      ? response.json["detail"]?.stringValue ?? "The response of the server has the status \(status)."
      : faults.joined(separator: " ")
  }
}
