/// A response's status: its code and the phrase that goes with it.
public struct Status: Sendable, Equatable {
  /// The three digits.
  public let code: Int
  let line: StaticString

  private init(_ code: Int, _ line: StaticString) {
    self.code = code
    self.line = line
  }

  /// The status of a code that this service answers with; nil for any other.
  public init?(code: Int) {
    guard let status = Self.all.first(where: { $0.code == code }) else { return nil }
    self = status
  }

  private static let all: [Status] = [
    .ok, .created, .noContent, .notModified, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed,
    .requestTimeout, .conflict, .preconditionFailed, .payloadTooLarge, .uriTooLong, .unsupportedMediaType,
    .expectationFailed, .unprocessableContent, .tooManyRequests, .headersTooLarge, .internalServerError,
    .notImplemented, .serviceUnavailable, .versionNotSupported, .insufficientStorage,
  ]

  /// Two statuses are equal when their codes are.
  public static func == (left: Status, right: Status) -> Bool { left.code == right.code }

  /// Whether an answer with it never has a body (RFC 9110, 6.4.1).
  public var forbidsBody: Bool { code < 200 || code == 204 || code == 304 }
}

extension Status {
  /// The answer to a request that worked (RFC 9110, 15.3.1).
  public static let ok = Status(200, "HTTP/1.1 200 OK\r\n")
  /// What was put wasn't there before (RFC 9110, 15.3.2).
  public static let created = Status(201, "HTTP/1.1 201 Created\r\n")
  /// It worked and there is nothing to say, so never a body (RFC 9110, 15.3.5).
  public static let noContent = Status(204, "HTTP/1.1 204 No Content\r\n")
  /// The client has it already, so never a body (RFC 9110, 15.4.5); also when a wait is over.
  public static let notModified = Status(304, "HTTP/1.1 304 Not Modified\r\n")
  /// The request can't be understood (RFC 9110, 15.5.1).
  public static let badRequest = Status(400, "HTTP/1.1 400 Bad Request\r\n")
  /// A token is missing or doesn't hold (RFC 9110, 15.5.2); goes with `WWW-Authenticate`.
  public static let unauthorized = Status(401, "HTTP/1.1 401 Unauthorized\r\n")
  /// Understood, but not allowed to anyone who asks like this (RFC 9110, 15.5.4).
  public static let forbidden = Status(403, "HTTP/1.1 403 Forbidden\r\n")
  /// Nothing is there (RFC 9110, 15.5.5).
  public static let notFound = Status(404, "HTTP/1.1 404 Not Found\r\n")
  /// It is there, but not for this method (RFC 9110, 15.5.6); goes with `Allow`.
  public static let methodNotAllowed = Status(405, "HTTP/1.1 405 Method Not Allowed\r\n")
  /// The client took too long to send its request (RFC 9110, 15.5.9); the connection is closed.
  public static let requestTimeout = Status(408, "HTTP/1.1 408 Request Timeout\r\n")
  /// The request doesn't go with the present state (RFC 9110, 15.5.10).
  public static let conflict = Status(409, "HTTP/1.1 409 Conflict\r\n")
  /// A condition such as `If-Match` doesn't hold (RFC 9110, 15.5.13).
  public static let preconditionFailed = Status(412, "HTTP/1.1 412 Precondition Failed\r\n")
  /// The body is past its limit (RFC 9110, 15.5.14).
  public static let payloadTooLarge = Status(413, "HTTP/1.1 413 Content Too Large\r\n")
  /// The request line is past its limit (RFC 9110, 15.5.15).
  public static let uriTooLong = Status(414, "HTTP/1.1 414 URI Too Long\r\n")
  /// The body is of a type that isn't read (RFC 9110, 15.5.16).
  public static let unsupportedMediaType = Status(415, "HTTP/1.1 415 Unsupported Media Type\r\n")
  /// `Expect` asks for something unknown (RFC 9110, 15.5.18).
  public static let expectationFailed = Status(417, "HTTP/1.1 417 Expectation Failed\r\n")
  /// The body is JSON, but not what the resource takes (RFC 9110, 15.5.21).
  public static let unprocessableContent = Status(422, "HTTP/1.1 422 Unprocessable Content\r\n")
  /// The client asks too often (RFC 6585, 4); goes with `Retry-After`.
  public static let tooManyRequests = Status(429, "HTTP/1.1 429 Too Many Requests\r\n")
  /// The header section is past its limit (RFC 6585, 5).
  public static let headersTooLarge = Status(431, "HTTP/1.1 431 Request Header Fields Too Large\r\n")
  /// A fault of ours (RFC 9110, 15.6.1).
  public static let internalServerError = Status(500, "HTTP/1.1 500 Internal Server Error\r\n")
  /// A method that no route has (RFC 9110, 9.1), or a transfer coding that isn't `chunked` (RFC 9112, 6.1).
  public static let notImplemented = Status(501, "HTTP/1.1 501 Not Implemented\r\n")
  /// Too busy, stopping, or without a store (RFC 9110, 15.6.4); goes with `Retry-After`.
  public static let serviceUnavailable = Status(503, "HTTP/1.1 503 Service Unavailable\r\n")
  /// A version other than HTTP/1.1 and HTTP/1.0 (RFC 9110, 15.6.6).
  public static let versionNotSupported = Status(505, "HTTP/1.1 505 HTTP Version Not Supported\r\n")
  /// The user's quota is used up (RFC 4918, 11.5).
  public static let insufficientStorage = Status(507, "HTTP/1.1 507 Insufficient Storage\r\n")
}
