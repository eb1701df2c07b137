/// A response to a request.
public struct Response: Sendable {
  /// The body of a response.
  public enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// The bytes of several arrays, one after the other.
    case pieces(BodyPieces)
    /// The bytes that the closure writes while it runs. The server sends them in the chunked
    /// coding. To an HTTP/1.0 client, it sends them without a coding and then closes the
    /// connection. If the closure throws, the server closes the connection before the end of the
    /// body, so that the client sees that the body is incomplete.
    ///
    /// `holding` is how much memory the closure keeps while it runs, in bytes. It counts as output
    /// that waits for the client. If there is no room for it, the client gets 503.
    case stream(holding: Int = 0, @Sendable (any BodyWriter) async throws -> Void)

    /// The body as one array. Nil if there is none, or if it is a stream.
    package var joined: [UInt8]? {
      switch self {
      case .none, .stream: nil
      case .bytes(let bytes): bytes
      case .pieces(let pieces): pieces.joined
      }
    }
  }

  package var status: Status
  /// The header fields without `Date`, `Content-Length`, `Transfer-Encoding` and `Connection`,
  /// which the server adds.
  package var fields: HeaderFields
  package var body: Body

  /// A response from its parts.
  public init(status: Status, fields: HeaderFields = HeaderFields(), body: Body = .none) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// Writes a streamed body.
public protocol BodyWriter: Sendable {
  /// Sends bytes to the client. Returns when the connection can take more, so that a stream is
  /// written no faster than the client reads. Throws `CancellationError` when the client is gone.
  func write(_ bytes: consuming [UInt8]) async throws
}
