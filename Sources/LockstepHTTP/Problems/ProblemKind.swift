/// The kinds of error this service answers with. Each has a page of its own at `/problems/<slug>`.
public enum ProblemKind: String, Sendable, CaseIterable {
  /// Bytes that aren't a request, or that could be two; the engine's own, before any route.
  case malformedRequest = "malformed-request"
  /// A body that isn't JSON at all; one that is, but isn't right, is `validationFailed`.
  case malformedJSON = "malformed-json"
  /// A part of the path or the query that can't be.
  case invalidParameter = "invalid-parameter"
  /// No token, or one that doesn't hold; the same for both, so that nobody learns which.
  case unauthorized
  /// What the operator has switched off, such as registration.
  case forbidden
  /// Nothing at this path, or nothing that this user may know of.
  case notFound = "not-found"
  /// From the router's table; `Allow` goes with it.
  case methodNotAllowed = "method-not-allowed"
  /// A head or a body that came too slowly; the engine's own.
  case requestTimeout = "request-timeout"
  /// A state that doesn't go with the request: an address that's taken, a failed `test` of a JSON patch.
  case conflict
  /// A conditional write that came too late; `current` and `cursor` go with it.
  case preconditionFailed = "precondition-failed"
  /// A body past the limit, refused before it's read where its length is announced.
  case payloadTooLarge = "payload-too-large"
  /// A request line past the limit; the engine's own.
  case uriTooLong = "uri-too-long"
  /// A body that says it isn't JSON, or that its bytes are coded.
  case unsupportedMediaType = "unsupported-media-type"
  /// An `Expect` other than `100-continue`; the engine's own.
  case expectationFailed = "expectation-failed"
  /// A body with faults, all of them listed in `errors`.
  case validationFailed = "validation-failed"
  /// A limit on how often or how many at once; `Retry-After` goes with it.
  case tooManyRequests = "too-many-requests"
  /// A header section past one of its limits; the engine's own.
  case headersTooLarge = "headers-too-large"
  /// Whatever a handler threw that isn't a problem; the client learns no more than that.
  case `internal`
  /// A method that no route has, or a transfer coding that nobody here can take off.
  case notImplemented = "not-implemented"
  /// No room for now; `Retry-After` goes with it.
  case overloaded
  /// A version of HTTP that isn't 1.x; the engine's own.
  case versionNotSupported = "version-not-supported"
  /// A user's items or bytes past what the operator allows.
  case quotaExceeded = "quota-exceeded"

  /// The last part of the problem's `type`, and of its page's path.
  public var slug: String { rawValue }

  /// The status that goes with it.
  public var status: Status { entry.status }

  /// What kind of error it is, in a few words.
  public var title: String { entry.title }

  /// What it means and what to do, for `/problems/<slug>` and as the `detail` of a problem that has none of its own.
  public var explanation: String { entry.explanation }

  private struct Entry {
    let status: Status
    let title: String
    let explanation: String
  }

  // One row a kind, so that nothing about a kind has to be looked for elsewhere.
  private var entry: Entry {
    switch self {
    case .malformedRequest:
      Entry(
        status: .badRequest,
        title: "The request isn't HTTP as it should be",
        explanation: "The bytes that arrived break a rule of HTTP/1.1 or could be read in two ways. The connection is "
          + "closed. Mend the client, or the proxy between; `detail` names the rule."
      )
    case .malformedJSON:
      Entry(
        status: .badRequest,
        title: "The body isn't JSON",
        explanation: "The body breaks a rule of JSON (RFC 8259). `detail` gives the line and column of the first "
          + "fault. Send valid JSON in UTF-8."
      )
    case .invalidParameter:
      Entry(
        status: .badRequest,
        title: "A parameter is invalid",
        explanation: "A part of the path or the query has a value that it can't have. `detail` names it and says what "
          + "it may be."
      )
    case .unauthorized:
      Entry(
        status: .unauthorized,
        title: "Not signed in",
        explanation: "The request needs a valid token: `Authorization: Bearer <token>`. Sign in again for a new one."
      )
    case .forbidden:
      Entry(
        status: .forbidden,
        title: "Not allowed",
        explanation: "The request was understood, and whoever runs this server doesn't allow it. Asking again doesn't "
          + "help."
      )
    case .notFound:
      Entry(
        status: .notFound,
        title: "Not found",
        explanation: "There is nothing at this path. `GET /` lists where to begin."
      )
    case .methodNotAllowed:
      Entry(
        status: .methodNotAllowed,
        title: "Method not allowed",
        explanation: "The resource is there, but not for this method. The `Allow` field lists those it has."
      )
    case .requestTimeout:
      Entry(
        status: .requestTimeout,
        title: "The request took too long to arrive",
        explanation: "The head has to arrive within the time this server gives it, and a body has to make progress. "
          + "The connection is closed; send the request again on a new one."
      )
    case .conflict:
      Entry(
        status: .conflict,
        title: "Conflict",
        explanation: "The request doesn't go with the present state. `detail` says with what it collides; read the "
          + "state again and decide anew."
      )
    case .preconditionFailed:
      Entry(
        status: .preconditionFailed,
        title: "It has changed meanwhile",
        explanation: "The condition of the request (`If-Match`, `If-None-Match`) doesn't hold. `current` is what is "
          + "there now and `cursor` its ETag: merge and try again."
      )
    case .payloadTooLarge:
      Entry(
        status: .payloadTooLarge,
        title: "The body is too large",
        explanation: "The body is larger than this server takes. Nothing was changed. Send less at once."
      )
    case .uriTooLong:
      Entry(
        status: .uriTooLong,
        title: "The request line is too long",
        explanation: "Method, path and query together are longer than this server takes. Send less in the query."
      )
    case .unsupportedMediaType:
      Entry(
        status: .unsupportedMediaType,
        title: "The body's type or coding isn't supported",
        explanation:
          "Bodies are read as JSON, and as they are: leave `Content-Type` away or send `application/json`, and "
          + "leave `Content-Encoding` away."
      )
    case .expectationFailed:
      Entry(
        status: .expectationFailed,
        title: "The expectation can't be met",
        explanation: "The only `Expect` this server knows is `100-continue`."
      )
    case .validationFailed:
      Entry(
        status: .unprocessableContent,
        title: "The body has faults",
        explanation: "The body is JSON but not what this resource takes. `errors` lists every fault with a JSON "
          + "Pointer to its place. Nothing was changed."
      )
    case .tooManyRequests:
      Entry(
        status: .tooManyRequests,
        title: "Too many requests",
        explanation: "Wait for as many seconds as `Retry-After` says, then go on."
      )
    case .headersTooLarge:
      Entry(
        status: .headersTooLarge,
        title: "The header section is too large",
        explanation: "The header fields are more, or longer, than this server takes. Often it's cookies that nobody "
          + "needs here."
      )
    case .internal:
      Entry(
        status: .internalServerError,
        title: "Internal error",
        explanation: "The server failed to answer; that's our fault, not yours. The log has more. A write that got "
          + "this answer may be sent again with the same `Idempotency-Key`."
      )
    case .notImplemented:
      Entry(
        status: .notImplemented,
        title: "Not implemented",
        explanation: "The request uses a method or a transfer coding that nothing on this server knows. `detail` names "
          + "the methods it has; of the codings it's `chunked`."
      )
    case .overloaded:
      Entry(
        status: .serviceUnavailable,
        title: "The server can't take this now",
        explanation:
          "The server has more to do, or more connections, than it can, or can't reach its store, or is about to stop. Nothing was "
          + "changed. Wait for as many seconds as `Retry-After` says, then try again."
      )
    case .versionNotSupported:
      Entry(
        status: .versionNotSupported,
        title: "HTTP version not supported",
        explanation: "This server speaks HTTP/1.1 and HTTP/1.0."
      )
    case .quotaExceeded:
      Entry(
        status: .insufficientStorage,
        title: "Quota exceeded",
        explanation: "The user has stored as much as this server allows. Nothing was changed. Delete something first."
      )
    }
  }
}
