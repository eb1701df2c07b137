/// The result of sending a delivery once.
package struct AttemptOutcome: Sendable, Equatable {
  package let kind: Kind
  /// The status of the response; nil if there was none.
  package let status: Int?
  /// Why the attempt failed, unless `status` says it.
  package let error: String?
  /// Whether the attempt does not count: this server stops, or runs too many transfers.
  package let isAborted: Bool

  package init(_ kind: Kind, status: Int? = nil, error: String? = nil, isAborted: Bool = false) {
    (self.kind, self.status, self.error, self.isAborted) = (kind, status, error, isAborted)
  }
}

extension AttemptOutcome {
  /// The result of an attempt (Standard Webhooks, “Delivery success and failure”).
  package enum Kind: Sendable, Equatable {
    /// 2xx.
    case delivered
    /// The receiver has too much to do: 429, 502, 503 and 504. With `Retry-After`, from 1 second to
    /// an hour, nothing else is sent to it for this time.
    case throttled(retryAfter: Duration?)
    /// Any other status, a redirect too. Only this message waits.
    case failed(retryAfter: Duration?)
    /// The receiver refuses this message permanently, and sending it again would not help. Others go on.
    case rejected
    /// 410: the receiver wants no more messages. Its webhook should be disabled.
    case gone

    package init(status: Int, retryAfter: Duration? = nil) {
      let time = retryAfter.map { min(max($0, .seconds(1)), .seconds(3600)) }
      self =
        switch status {
        case 200..<300: .delivered
        case 410: .gone
        case 429, 502, 503, 504: .throttled(retryAfter: time)
        default: .failed(retryAfter: time)
        }
    }
  }
}
