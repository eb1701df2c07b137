/// Sends the requests of a client. The default is `URLSessionTransport`; tests pass a server in memory.
public protocol ClientTransport: Sendable {
  /// Sends a request and returns the whole response. Throws if no response arrives, or if it is incomplete. Must
  /// end soon when the task is cancelled.
  func response(to request: ClientRequest) async throws -> ClientResponse
}

/// A request of a client.
public struct ClientRequest: Sendable, Equatable {
  /// `GET`, `POST` or `DELETE`.
  public var method: String
  /// The path with its query, such as `/v1/changes?wait=30`.
  public var target: String
  /// The header fields.
  public var fields: [String: String]
  /// The body, which is JSON; nil without one.
  public var body: [UInt8]?
  /// For how long the server may be silent. After this time, the request fails. A long response as a whole may take
  /// ten times as long.
  public var patience: Duration

  /// A request.
  public init(
    method: String = "GET",
    target: String,
    fields: [String: String] = [:],
    body: [UInt8]? = nil,
    patience: Duration = .seconds(30)
  ) {
    (self.method, self.target, self.fields, self.body, self.patience) = (method, target, fields, body, patience)
  }
}

/// The response of a server.
public struct ClientResponse: Sendable, Equatable {
  /// The status.
  public var status: Int
  /// The header fields, by their names in lower case.
  public var fields: [String: String]
  /// The body.
  public var body: [UInt8]

  /// A response. The names of fields may have upper-case letters.
  public init(status: Int, fields: [String: String] = [:], body: [UInt8] = []) {
    self.status = status
    self.fields = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    self.body = body
  }

  /// A header field, by its name in upper or lower case.
  public subscript(field: String) -> String? { fields[field.lowercased()] }
}
