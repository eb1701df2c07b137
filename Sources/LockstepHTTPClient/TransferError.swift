/// Why a transfer has no complete response.
public struct TransferError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Kind: Sendable, Equatable, CaseIterable {
    /// The host's name is unknown.
    case name
    /// The connection failed.
    case connection
    /// The host has no public address, and the client connects to no other.
    case privateAddress
    /// TLS failed: the certificate is not trusted, or the host does not use TLS.
    case encryption
    /// The connection broke before the response was complete, or the response is not HTTP.
    case broken
    /// The response is longer than the client's limit.
    case tooLong
    /// The mail server rejected the user or the password.
    case login
    /// The transfer took too long.
    case timeOut
    /// Too many transfers are running.
    case overloaded
    /// The waiting task was cancelled, or the client was shut down.
    case cancelled
    /// The transfer could not start, because memory ran out or the URL is invalid.
    case notBegun
  }

  /// The kind of failure.
  public let kind: Kind
  /// A message for the operator. It may name the host, but never credentials or the body.
  public let detail: String
  /// The last status of the other server, or 0.
  package let status: Int

  package init(_ kind: Kind, _ detail: String) { self.init(kind, detail, status: 0) }

  init(_ kind: Kind, _ detail: String, status: Int) {
    self.kind = kind
    self.detail = detail
    self.status = status
  }

  /// The detail and the kind.
  public var description: String { "\(detail) (\(kind))" }
}
