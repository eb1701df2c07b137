/// Why a transfer has no complete response.
package struct TransferError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CaseIterable {
    case name
    case connection
    /// The host has no public address, and the client connects to no other.
    case privateAddress
    /// TLS failed: the certificate is not trusted, or the host does not use TLS.
    case encryption
    /// The connection broke before the response was complete, or the response is not HTTP.
    case broken
    case tooLong
    /// The mail server rejected the user or the password.
    case login
    case timeOut
    case overloaded
    /// The waiting task was cancelled, or the client was shut down.
    case cancelled
    /// The transfer could not start, because memory ran out or the URL is invalid.
    case notBegun
  }

  package let kind: Kind
  /// A message for the operator. It may name the host, but never credentials or the body.
  package let detail: String
  /// The last status of the other server, or 0.
  package let status: Int

  package init(_ kind: Kind, _ detail: String) { self.init(kind, detail, status: 0) }

  init(_ kind: Kind, _ detail: String, status: Int) {
    self.kind = kind
    self.detail = detail
    self.status = status
  }

  package var description: String { "\(detail) (\(kind))" }
}
