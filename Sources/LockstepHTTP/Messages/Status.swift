/// The status of a response: its code and its phrase.
public struct Status: Sendable, Equatable {
  package let code: Int
  let line: StaticString

  private init(_ code: Int, _ line: StaticString) {
    self.code = code
    self.line = line
  }

  /// Nil if this server never sends the code.
  package init?(code: Int) {
    guard let status = Self.all.first(where: { $0.code == code }) else { return nil }
    self = status
  }

  private static let all: [Status] = [
    .ok, .created, .accepted, .noContent, .notModified, .permanentRedirect, .badRequest, .unauthorized, .forbidden,
    .notFound,
    .methodNotAllowed,
    .requestTimeout, .conflict, .preconditionFailed, .payloadTooLarge, .uriTooLong, .unsupportedMediaType,
    .expectationFailed, .unprocessableContent, .tooManyRequests, .headersTooLarge, .internalServerError,
    .notImplemented, .serviceUnavailable, .versionNotSupported, .insufficientStorage,
  ]

  /// Two statuses are equal if their codes are.
  public static func == (left: Status, right: Status) -> Bool { left.code == right.code }

  /// Whether a response with this status never has a body (RFC 9110, 6.4.1).
  public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }

  // All from RFC 9110, 15, except 429 and 431 (RFC 6585) and 507 (RFC 4918).
  package static let ok = Status(200, "HTTP/1.1 200 OK\r\n")
  package static let created = Status(201, "HTTP/1.1 201 Created\r\n")
  package static let accepted = Status(202, "HTTP/1.1 202 Accepted\r\n")
  package static let noContent = Status(204, "HTTP/1.1 204 No Content\r\n")
  package static let notModified = Status(304, "HTTP/1.1 304 Not Modified\r\n")
  package static let permanentRedirect = Status(308, "HTTP/1.1 308 Permanent Redirect\r\n")
  package static let badRequest = Status(400, "HTTP/1.1 400 Bad Request\r\n")
  package static let unauthorized = Status(401, "HTTP/1.1 401 Unauthorized\r\n")
  package static let forbidden = Status(403, "HTTP/1.1 403 Forbidden\r\n")
  package static let notFound = Status(404, "HTTP/1.1 404 Not Found\r\n")
  package static let methodNotAllowed = Status(405, "HTTP/1.1 405 Method Not Allowed\r\n")
  package static let requestTimeout = Status(408, "HTTP/1.1 408 Request Timeout\r\n")
  package static let conflict = Status(409, "HTTP/1.1 409 Conflict\r\n")
  package static let preconditionFailed = Status(412, "HTTP/1.1 412 Precondition Failed\r\n")
  package static let payloadTooLarge = Status(413, "HTTP/1.1 413 Content Too Large\r\n")
  package static let uriTooLong = Status(414, "HTTP/1.1 414 URI Too Long\r\n")
  package static let unsupportedMediaType = Status(415, "HTTP/1.1 415 Unsupported Media Type\r\n")
  package static let expectationFailed = Status(417, "HTTP/1.1 417 Expectation Failed\r\n")
  package static let unprocessableContent = Status(422, "HTTP/1.1 422 Unprocessable Content\r\n")
  package static let tooManyRequests = Status(429, "HTTP/1.1 429 Too Many Requests\r\n")
  package static let headersTooLarge = Status(431, "HTTP/1.1 431 Request Header Fields Too Large\r\n")
  package static let internalServerError = Status(500, "HTTP/1.1 500 Internal Server Error\r\n")
  package static let notImplemented = Status(501, "HTTP/1.1 501 Not Implemented\r\n")
  package static let serviceUnavailable = Status(503, "HTTP/1.1 503 Service Unavailable\r\n")
  package static let versionNotSupported = Status(505, "HTTP/1.1 505 HTTP Version Not Supported\r\n")
  package static let insufficientStorage = Status(507, "HTTP/1.1 507 Insufficient Storage\r\n")
}
