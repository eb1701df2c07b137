/// Why an upstream did not accept a profile.
public struct UpstreamError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Kind: Sendable, Equatable {
    /// The host's name is unknown, the connection failed or broke, the certificate is not trusted,
    /// or the response is not HTTP.
    case unreachable
    /// The response took too long. The profile may have arrived.
    case timedOut
    /// The upstream refused the profile with a 4xx status, or with a 3xx status, because redirects
    /// are not followed.
    case refused(status: Int)
    /// The upstream failed with a 5xx status. `nil` if its response was too long, or if the
    /// transfer could not start.
    case failed(status: Int?)
    /// Too many transfers are running.
    case overloaded
    /// The waiting task was cancelled, or the server shuts down.
    case cancelled
  }

  /// The kind of failure.
  public let kind: Kind
  /// The exact cause, for the operator. It contains no credentials and no part of the profile.
  public let detail: String

  /// Makes an error.
  public init(_ kind: Kind, detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// Whether a retry may succeed: after failures of the network, time-outs, and the statuses 408, 425,
  /// 429 and 5xx.
  public var mayPass: Bool {
    switch kind {
    case .unreachable, .timedOut, .overloaded: true
    // Request timeout, too early, too many requests.
    case .refused(let status): [408, 425, 429].contains(status)
    case .failed(let status): status.map { (500..<600).contains($0) } ?? true
    case .cancelled: false
    }
  }

  /// The failure, in an English sentence for users.
  public var message: String { text(.en) }

  /// For logs: the kind and the detail.
  public var description: String { "\(kind): \(detail)" }
}
