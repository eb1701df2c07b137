/// The kinds of problem that this server responds with. Each has a page at `/problems/<slug>`.
public enum ProblemKind: String, Sendable, CaseIterable {
  case malformedRequest = "malformed-request"
  case malformedJSON = "malformed-json"
  case invalidParameter = "invalid-parameter"
  /// The token is missing or invalid, or the e-mail address or password of a login is wrong.
  case unauthorized
  case forbidden
  /// There is no such resource, or this user may not know of it.
  case notFound = "not-found"
  case methodNotAllowed = "method-not-allowed"
  case requestTimeout = "request-timeout"
  case conflict
  case preconditionFailed = "precondition-failed"
  case payloadTooLarge = "payload-too-large"
  case uriTooLong = "uri-too-long"
  case unsupportedMediaType = "unsupported-media-type"
  case expectationFailed = "expectation-failed"
  case validationFailed = "validation-failed"
  case tooManyRequests = "too-many-requests"
  case headersTooLarge = "headers-too-large"
  /// A handler threw an error that is not a `Problem`. The client learns no more about the error.
  case `internal`
  case notImplemented = "not-implemented"
  case overloaded
  case versionNotSupported = "version-not-supported"
  case quotaExceeded = "quota-exceeded"

  /// The last part of the problem's `type`, and of the path of its page.
  package var slug: String { rawValue }
  package var status: Status { summary.status }
  /// A sentence that an app may show to its users, if the problem has none of its own. `detail` is for developers.
  package var title: String { summary.title }

  private var summary: (status: Status, title: String) {
    switch self {
    case .malformedRequest: (.badRequest, "The app sent something that the server does not understand")
    case .malformedJSON: (.badRequest, "The app sent something that the server cannot read")
    case .invalidParameter: (.badRequest, "The app asked for something that the server does not know")
    case .unauthorized: (.unauthorized, "You are not logged in")
    case .forbidden: (.forbidden, "You are not allowed to do this")
    case .notFound: (.notFound, "This could not be found")
    case .methodNotAllowed: (.methodNotAllowed, "This is not possible here")
    case .requestTimeout: (.requestTimeout, "The connection is too slow")
    case .conflict: (.conflict, "This conflicts with what is already there")
    case .preconditionFailed: (.preconditionFailed, "This has changed in the meantime")
    case .payloadTooLarge: (.payloadTooLarge, "This is too large")
    case .uriTooLong: (.uriTooLong, "The app asked for too much at once")
    case .unsupportedMediaType: (.unsupportedMediaType, "The server does not support this kind of data")
    case .expectationFailed: (.expectationFailed, "The server does not support what the app expects")
    case .validationFailed: (.unprocessableContent, "Some of the input is not valid")
    case .tooManyRequests: (.tooManyRequests, "Too many attempts. Please wait a moment")
    case .headersTooLarge: (.headersTooLarge, "The app sent too much at once")
    case .internal: (.internalServerError, "Something went wrong on the server")
    case .notImplemented: (.notImplemented, "The server does not support this")
    case .overloaded: (.serviceUnavailable, "The server is not available at the moment")
    case .versionNotSupported: (.versionNotSupported, "The app and the server do not understand each other")
    case .quotaExceeded: (.insufficientStorage, "There is no room for more")
    }
  }

  /// The meaning of the problem and its remedy. It is the text of the problem's page, and the
  /// default for a problem's `detail`.
  package var explanation: String {
    switch self {
    case .malformedRequest:
      "The request breaks a rule of HTTP/1.1, or a proxy and this server could read it differently. "
        + "`detail` names the rule. The server closes the connection. "
        + "Correct the client, or the proxy in front of the server."
    case .malformedJSON:
      "The body breaks a rule of JSON (RFC 8259). `detail` has the line and column of the first error. "
        + "Send valid JSON in UTF-8."
    case .invalidParameter:
      "A value in the path, in the query or in a header field is invalid. `detail` names it and says which values "
        + "are valid."
    case .unauthorized:
      "The request needs a valid token: `Authorization: Bearer <token>`. Log in again to get a new one, or ask the "
        + "issuer's SDK for one. If the request is a login, its e-mail address, its password or its `idToken` is wrong."
    case .forbidden:
      "The server does not allow this request: for example, its password is wrong, registration is closed, or pages "
        + "of this origin may not write. `detail` says why. Sending the same request again does not help."
    case .notFound:
      "There is no resource at this path. `GET /` lists where to begin."
    case .methodNotAllowed:
      "The resource exists, but does not support this method. The `Allow` field lists the methods that it supports."
    case .requestTimeout:
      "The head did not arrive within the time limit, or the body arrived too slowly. The server closes the "
        + "connection. Send the request again on a new connection."
    case .conflict:
      "The request conflicts with the current state. `detail` says why. Read the state, then decide again."
    case .preconditionFailed:
      "The precondition of the request (`If-Match`, `If-None-Match`) is false. `current` is the current value, "
        + "and `cursor` is its ETag. Merge your change into the current value and try again. Without `current`, read "
        + "the resource again."
    case .payloadTooLarge:
      "The body is larger than this server accepts. Nothing was changed. Send less in one request."
    case .uriTooLong:
      "The method, the path and the query together are longer than this server accepts. Shorten the query."
    case .unsupportedMediaType:
      "The server reads bodies as JSON without a content coding. Omit `Content-Encoding`. Omit "
        + "`Content-Type` or send `application/json`; for a JSON patch, send `application/json-patch+json`."
    case .expectationFailed:
      "The only `Expect` that this server supports is `100-continue`."
    case .validationFailed:
      "The body is JSON, but this resource does not accept it. `errors` lists every fault with a JSON Pointer to "
        + "its place. Nothing was changed."
    case .tooManyRequests:
      "Wait for the number of seconds in `Retry-After`, then continue."
    case .headersTooLarge:
      "The request has more header fields, or longer ones, than this server accepts. A common cause is cookies, "
        + "which this server does not use."
    case .internal:
      "The server failed to handle the request. The cause is in the server, not in the request. "
        + "The log of the server says more. You may send a write again with the same `Idempotency-Key`."
    case .notImplemented:
      "This server does not support the method or the transfer coding of the request. `detail` lists the methods; "
        + "the only transfer coding is `chunked`."
    case .overloaded:
      "The server has too much work or too many connections, cannot reach its store or the issuer of a token, or is "
        + "shutting down. "
        + "Nothing was changed. Wait for the number of seconds in `Retry-After`, then try again."
    case .versionNotSupported:
      "This server supports HTTP/1.1 and HTTP/1.0."
    case .quotaExceeded:
      "The user has stored as much as this server allows. Nothing was changed. Delete something first."
    }
  }
}
