/// The limits of a parser.
///
/// The caller must limit the size of the text. A parsed value takes at most about 40 times the
/// memory of its text (for `[[0],[0],…]`), and usually 2 to 4 times.
public struct JSONLimits: Sendable, Hashable {
  /// The greatest possible depth. Swift releases nested arrays recursively, which must not overflow
  /// a thread's stack.
  public static let highestDepth = 1024

  /// The greatest nesting depth. Deeper text is `depthExceeded`.
  public let maximumDepth: Int

  /// Limits with a depth between 0 and `highestDepth`. At 0 only values that are neither array nor
  /// object pass.
  public init(maximumDepth: Int = 128) {
    self.maximumDepth = min(max(maximumDepth, 0), Self.highestDepth)
  }

  /// The default limits.
  public static let standard = JSONLimits()
}
