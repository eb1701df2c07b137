import LockstepJSON

/// An error as clients get it (RFC 9457). All error responses have this form.
public struct Problem: Error, Sendable {
  /// One fault of a body.
  public struct Fault: Sendable, Equatable {
    /// A JSON Pointer to the faulty field, for example `/title`.
    package let pointer: String
    /// The fault, and how to correct it.
    package let detail: String

    package init(pointer: String, detail: String) {
      self.pointer = pointer
      self.detail = detail
    }
  }

  /// Decides `type` and `status`.
  package var kind: ProblemKind
  /// A sentence that an app may show to its users. Default: the sentence of the kind.
  package var title: String
  /// The error of this request and its remedy. Default: the explanation of the kind.
  package var detail: String
  /// The faults of a body: all of them, or the first `mostErrors`.
  package private(set) var errors: [Fault]
  /// Additional members of the document, such as `current`. A member with a standard name is
  /// ignored.
  package var members: [(name: String, value: JSON)]
  /// Additional header fields of the response, such as `Allow`.
  package var fields: HeaderFields

  /// The detail of a request that found no place.
  package static let tooManyConnections = "The server has as many connections as it allows."
  /// The detail of a request that came when the server shut down.
  package static let shuttingDown = "The server is shutting down."

  /// The most faults that a problem lists. A hostile body may have many thousands.
  package static let mostErrors = 100

  package init(
    _ kind: ProblemKind,
    title: String? = nil,
    detail: String? = nil,
    errors: [Fault] = [],
    members: [(name: String, value: JSON)] = [],
    fields: HeaderFields = HeaderFields()
  ) {
    self.kind = kind
    self.title = title ?? kind.title
    self.detail = detail ?? kind.explanation
    self.errors = Array(errors.prefix(Self.mostErrors))
    self.members = members
    self.fields = fields
  }

  package var document: JSON {
    var document: JSONObject = [
      "type": .string("/problems/\(kind.slug)"),
      "title": .string(title),
      "status": .integer(Int64(kind.status.code)),
      "detail": .string(detail),
    ]
    if !errors.isEmpty {
      document["errors"] = .array(
        errors.map { .object(["pointer": .string($0.pointer), "detail": .string($0.detail)]) }
      )
    }
    for member in members where document[member.name] == nil { document[member.name] = member.value }
    return .object(document)
  }

  package var response: Response {
    var fields = HeaderFields()
    fields.append(.contentType, "application/problem+json")
    fields.append(.cacheControl, "no-store")
    fields.append(contentsOf: .forBrowsers)
    fields.append(contentsOf: self.fields)
    return Response(status: kind.status, fields: fields, body: .bytes(document.encoded()))
  }

  static func malformed(_ detail: String) -> Problem { Problem(.malformedRequest, detail: detail) }

  static func uriTooLong(_ bounds: ParserLimits) -> Problem {
    Problem(.uriTooLong, detail: "The request line is longer than \(bounds.requestLine) bytes.")
  }

  package static func bodyTooLarge(_ limit: Int) -> Problem {
    Problem(.payloadTooLarge, detail: "The body is larger than the limit of \(limit) bytes.")
  }

  static func headersTooLarge(_ bounds: ParserLimits) -> Problem {
    Problem(
      .headersTooLarge,
      detail: "The header section is larger than \(bounds.headerSection) bytes or has more than "
        + "\(bounds.headerFields) fields."
    )
  }
}
