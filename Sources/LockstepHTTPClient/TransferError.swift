/// Why a transfer has no complete response.
package struct TransferError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Kind: Sendable, Equatable, CaseIterable {
    case name
    case connection
    /// TLS failed: the certificate is not trusted, or the host does not use TLS.
    case encryption
    /// The connection broke before the response was complete, or the response is not HTTP.
    case broken
    case tooLong
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

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  package var description: String { "\(detail) (\(kind))" }
}
