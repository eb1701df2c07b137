/// Why a transfer has no answer.
public struct TransferError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What kind of failure it is: what a caller decides by.
  public enum Kind: Sendable, Equatable, CaseIterable {
    /// The host's name isn't known, or can't be asked for at the moment.
    case name
    /// Nobody takes connections there.
    case connection
    /// No encrypted connection to whom it should be: its certificate isn't to be trusted, or it doesn't speak TLS.
    case encryption
    /// The connection broke before the answer was whole, or what came is no HTTP.
    case broken
    /// The answer is longer than it may be.
    case tooLong
    /// Connecting, or the whole of it, took longer than it may.
    case timeOut
    /// As many transfers run as may.
    case overloaded
    /// The task that waits for it was cancelled, or the client has been shut down.
    case cancelled
    /// It couldn't even begin: there is no memory, or the URL isn't one.
    case notBegun
  }

  /// What kind of failure it is.
  public let kind: Kind
  /// What happened, for an operator. It names the host, and neither credentials nor what was sent.
  public let detail: String

  /// A failure of its parts.
  public init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// For example: `SQLiteConnection refused (connection)`.
  public var description: String { "\(detail) (\(kind))" }
}
