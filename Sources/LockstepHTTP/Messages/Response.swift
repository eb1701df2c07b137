/// An answer to a request.
public struct Response: Sendable {
  /// What follows the head.
  public enum Body: Sendable {
    /// Nothing.
    case none
    /// These bytes.
    case bytes([UInt8])
    /// What the closure writes, for as long as it runs: sent in the chunked coding, or until the connection's end to an
    /// HTTP/1.0 client. If it throws, the connection is cut so that the client sees that the body isn't whole.
    case stream(@Sendable (any BodyWriter) async throws -> Void)
  }

  /// The status.
  public var status: Status
  /// The fields, without those that the engine adds itself: `Date`, `Content-Length`, `Transfer-Encoding`,
  /// `Connection`.
  public var fields: HeaderFields
  /// The body.
  public var body: Body

  /// An answer of its parts.
  public init(status: Status, fields: HeaderFields = HeaderFields(), body: Body = .none) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// Where a streamed body is written.
public protocol BodyWriter: Sendable {
  /// Sends bytes to the client. Returns when the connection can take more, so a writer is never faster than its reader.
  /// Throws `CancellationError` when the client is gone.
  func write(_ bytes: [UInt8]) async throws
}
