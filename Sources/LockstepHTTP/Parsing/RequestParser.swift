/// Makes request heads out of bytes, in whatever pieces they come (RFC 9112).
///
/// One parser serves one connection. After a problem the connection can't be trusted any more: where the next request
/// would begin is unknown, so the caller answers and closes.
public struct RequestParser: Sendable {
  /// What a look at the bytes gave.
  public enum Outcome: Sendable {
    /// The head isn't complete.
    case incomplete
    /// The head, and how many bytes of the buffer it took.
    case head(RequestHead, consumed: Int)
  }

  private let bounds: ParserLimits
  private var scanner = HeadScanner()

  /// A parser that refuses what is past `limits`.
  public init(limits: Limits) {
    bounds = ParserLimits(limits)
  }

  /// Whether nothing of a head has been seen yet.
  public var isAtStart: Bool { scanner.isAtStart }

  /// How many bytes of empty lines there were before the head that is incomplete. The caller forgets them: the next call
  /// gets the bytes behind them.
  public mutating func takeEmptyLines() -> Int { scanner.takeEmptyLines() }

  /// Looks at all bytes that came since the end of the last request: those it saw before and those that are new.
  ///
  /// When this gives a head, the next call begins another one: hand it the bytes behind `consumed`.
  public mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> Outcome {
    guard let length = try scanner.scan(bytes, bounds: bounds) else { return .incomplete }
    let start = scanner.start
    scanner = HeadScanner()
    let head = try HeadReader.read(bytes.slice(start..<start + length))
    return .head(head, consumed: start + length)
  }
}
