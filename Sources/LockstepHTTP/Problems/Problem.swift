import LockstepJSON

/// What went wrong, as a client is told (RFC 9457): the only shape of error this service has.
public struct Problem: Error, Sendable {
  /// One fault of a body: where it is, as a JSON Pointer, and what it is.
  public struct Fault: Sendable, Equatable {
    /// A JSON Pointer to the faulty place, for example `/title`.
    public let pointer: String
    /// What is wrong there and what would be right.
    public let detail: String

    /// A fault at a place.
    public init(pointer: String, detail: String) {
      self.pointer = pointer
      self.detail = detail
    }
  }

  /// The kind of error; gives `type`, `title` and `status`.
  public var kind: ProblemKind
  /// What happened this time and what to do. The kind's explanation unless something better is known.
  public var detail: String
  /// Every fault of a body, not only the first.
  public var errors: [Fault]
  /// Further members of the document, such as `current`. One named as a standard member is left out.
  public var members: [(name: String, value: JSON)]
  /// Header fields that go with the answer, such as `Allow`.
  public var fields: HeaderFields

  /// A problem of a kind, with what is known about this occurrence.
  public init(
    _ kind: ProblemKind,
    detail: String? = nil,
    errors: [Fault] = [],
    members: [(name: String, value: JSON)] = [],
    fields: HeaderFields = HeaderFields()
  ) {
    self.kind = kind
    self.detail = detail ?? kind.explanation
    self.errors = errors
    self.members = members
    self.fields = fields
  }

  /// The problem document.
  public var document: JSON {
    var document: JSONObject = [
      "type": .string("/problems/\(kind.slug)"),
      "title": .string(kind.title),
      "status": .integer(Int64(kind.status.code)),
      "detail": .string(detail),
    ]
    if !errors.isEmpty {
      document["errors"] = .array(
        errors.map { .object(["pointer": .string($0.pointer), "detail": .string($0.detail)]) }
      )
    }
    // The standard members say what the kind says: none of the further ones can take their place.
    for member in members where document[member.name] == nil { document[member.name] = member.value }
    return .object(document)
  }

  /// The answer that tells the client.
  public var response: Response {
    var fields = HeaderFields()
    fields.append(.contentType, "application/problem+json")
    fields.append(.cacheControl, "no-store")
    fields.append(contentsOf: .forBrowsers)
    fields.append(contentsOf: self.fields)
    return Response(status: kind.status, fields: fields, body: .bytes(document.encoded()))
  }
}

extension Problem {
  static func malformed(_ detail: String) -> Problem { Problem(.malformedRequest, detail: detail) }

  static func uriTooLong(_ bounds: ParserLimits) -> Problem {
    Problem(.uriTooLong, detail: "The request line is longer than \(bounds.requestLine) bytes.")
  }

  /// A body past a limit.
  public static func bodyTooLarge(_ limit: Int) -> Problem {
    Problem(.payloadTooLarge, detail: "The body is larger than \(limit) bytes, which is the most that is taken here.")
  }

  static func headersTooLarge(_ bounds: ParserLimits) -> Problem {
    Problem(
      .headersTooLarge,
      detail: "The header section is larger than \(bounds.headerSection) bytes or has more than "
        + "\(bounds.headerFields) fields."
    )
  }
}
