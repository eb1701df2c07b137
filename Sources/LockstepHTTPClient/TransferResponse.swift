/// A complete response.
public struct TransferResponse: Sendable, Equatable {
  /// The status.
  public let status: Int
  /// The body.
  public let body: [UInt8]
  /// How long a cache may use the response, by `max-age` of its field `Cache-Control`. Zero for `no-cache` and
  /// `no-store`. Nil if the field does not say it.
  public let maxAge: Duration?
  /// The time in `Retry-After`, from now. Nil without the field, or if it is 0.
  public let retryAfter: Duration?

  package init(status: Int, body: [UInt8], maxAge: Duration? = nil, retryAfter: Duration? = nil) {
    (self.status, self.body, self.maxAge, self.retryAfter) = (status, body, maxAge, retryAfter)
  }

  static func maxAge(in cacheControl: String) -> Duration? {
    var maxAge: Duration?
    for directive in cacheControl.lowercased().split(whereSeparator: { ", \t\r\n".contains($0) }) {
      if directive == "no-cache" || directive == "no-store" { return .zero }
      guard directive.hasPrefix("max-age="), maxAge == nil else { continue }
      let digits = directive.dropFirst("max-age=".count)
      // At most ten digits, so that the number is not too large for a duration.
      guard (1...10).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        continue
      }
      maxAge = Int(digits).map { .seconds($0) }
    }
    return maxAge
  }
}
