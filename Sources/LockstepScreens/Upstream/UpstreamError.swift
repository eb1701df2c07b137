/// Why an upstream hasn't taken what was sent.
public struct UpstreamError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// It can't be reached: its name isn't known, nobody listens, it isn't who it should be, or the connection broke.
    case unreachable
    /// It took longer than it may. What was sent may have arrived.
    case timedOut
    /// It doesn't want it: this status, of 4xx, or of 3xx, since redirects aren't followed.
    case refused(status: Int)
    /// It couldn't: this status, of 5xx; or what it answered isn't an answer, and then there is none.
    case failed(status: Int?)
    /// As much is on its way already as may be.
    case overloaded
    /// Whoever waited for it was cancelled, or the server stops.
    case cancelled
  }

  /// What happened.
  public let kind: Kind
  /// For an operator: what exactly happened. No credentials and nothing of what was sent are in it.
  public let detail: String

  /// A failure of its parts.
  public init(_ kind: Kind, detail: String) {
    self.kind = kind
    self.detail = detail
  }

  /// Whether the same may well succeed when it's sent again.
  public var mayPass: Bool {
    switch kind {
    case .unreachable, .timedOut, .overloaded: true
    // Who is asked to be patient, and who answers too early data, may come again.
    case .refused(let status): [408, 425, 429].contains(status)
    case .failed(let status): status != 501 && status != 505
    case .cancelled: false
    }
  }

  /// What happened in a sentence for people: nothing of the machinery in it.
  public var message: String {
    switch kind {
    case .unreachable: "The service that keeps profiles can't be reached."
    case .timedOut: "The service that keeps profiles takes too long to answer."
    case .refused where mayPass: "The service that keeps profiles is busy."
    case .refused: "The service that keeps profiles doesn't accept this."
    case .failed: "The service that keeps profiles has a problem."
    case .overloaded: "Too many profiles are being saved at the moment."
    case .cancelled: "Saving was stopped."
    }
  }

  /// For logs: the kind and the detail.
  public var description: String { "\(kind): \(detail)" }
}
