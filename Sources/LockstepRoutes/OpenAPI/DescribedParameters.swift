import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore

// The parameters that many routes share, each described once.

extension RouteParameter {
  /// All that a read of a user's state takes: conditions, waiting, and the past.
  static let reading = [at] + waiting + [ifNoneMatch]
  /// All that makes an answer wait.
  static let waiting = [wait, prefer]
  /// All that a conditional write takes that may be sent again.
  static let writing = [ifMatch, ifNoneMatchOfWrite, idempotencyKey]

  static let at = RouteParameter(
    "at",
    in: .query,
    "Shows it as it was at that cursor, as far back as the history is kept.",
    schema: .cursorSchema,
    sharedName: "at"
  )

  static let wait = RouteParameter(
    "wait",
    in: .query,
    "Holds the answer until there is something new, for so many seconds at most; more than the server's longest wait is lowered "
      + "to it. It has an effect together with If-None-Match, or with since. It wins over Prefer.",
    schema: ["type": "integer", "minimum": 0],
    sharedName: "wait"
  )

  static let prefer = RouteParameter(
    "Prefer",
    in: .header,
    "`wait=<seconds>` does what the parameter wait does (RFC 7240). Other preferences are passed over.",
    schema: ["type": "string", "examples": ["wait=30"]],
    sharedName: "Prefer"
  )

  static let ifNoneMatch = RouteParameter(
    "If-None-Match",
    in: .header,
    "Entity tags, as ETag gives them: where what there is has one of them still, the answer is 304.",
    schema: .tagsSchema,
    sharedName: "If-None-Match"
  )

  static let ifNoneMatchOfWrite = RouteParameter(
    "If-None-Match",
    in: .header,
    "`*`: write only where there is nothing yet. Entity tags: only where what there is has none of them. Else 412.",
    schema: .tagsSchema,
    sharedName: "If-None-Match-of-a-write"
  )

  static let ifMatch = RouteParameter(
    "If-Match",
    in: .header,
    "Entity tags, as ETag gives them: write only where what there is has one of them. `*`: only where there is something. "
      + "Else 412, with what there is.",
    schema: .tagsSchema,
    sharedName: "If-Match"
  )

  static let idempotencyKey = RouteParameter(
    "Idempotency-Key",
    in: .header,
    "A text of 1 to \(IdempotencyKey.maximumBytes) bytes, new for each new write. The same write sent again with it within 24 "
      + "hours is done once, and gets the first answer again.",
    schema: ["type": "string", "minLength": 1, "maxLength": JSON(IdempotencyKey.maximumBytes)],
    sharedName: "Idempotency-Key"
  )

  static let requestID = RouteParameter(
    "X-Request-Id",
    in: .header,
    "By what the request is to be found again in the server's log: 1 to \(RequestNames.longest) visible ASCII characters. Anything "
      + "else is passed over.",
    schema: ["type": "string", "examples": ["7f1c2a"]],
    sharedName: "X-Request-Id"
  )

  static let lastEventID = RouteParameter(
    "Last-Event-ID",
    in: .header,
    "Of a stream: the id of the last event that the client has, after which it goes on.",
    schema: ["type": "string"],
    sharedName: "Last-Event-ID"
  )

  static let prefix = RouteParameter(
    "prefix",
    in: .query,
    "Only elements whose names begin so.",
    schema: ["type": "string"],
    sharedName: "prefix"
  )

  static let limit = RouteParameter(
    "limit",
    in: .query,
    "A page of so many elements at most. Where there are more, Link tells where.",
    schema: ["type": "integer", "minimum": 1, "maximum": 1_000_000],
    sharedName: "limit"
  )

  static let after = RouteParameter(
    "after",
    in: .query,
    "Begins behind the element of this id.",
    schema: .nameSchema,
    sharedName: "after"
  )

  /// The pages of a list.
  static let pages = [limit, after, prefix]

  /// The name of an element in a path: an id or a key.
  static func element(_ name: String) -> RouteParameter {
    RouteParameter(name, in: .path, "The element's \(name), percent-encoded.", schema: .nameSchema)
  }

  static let suite = RouteParameter(
    "suite",
    in: .path,
    "The name of a suite. One in which nothing was ever set is empty.",
    schema: .suiteSchema,
    sharedName: "suite"
  )
}
