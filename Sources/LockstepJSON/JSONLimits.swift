/// What a parser accepts.
///
/// The size of the text is not limited here; whoever receives it does that. A parsed value takes at
/// most some 40 times the memory of its text (of `[[0],[0],…]`), and mostly 2 to 4 times.
public struct JSONLimits: Sendable, Hashable {
  /// The greatest depth that can be asked for. Swift frees nested arrays recursively, and that must
  /// not overflow the stack of any thread.
  public static let highestDepth = 1024

  /// How many arrays and objects may stand inside each other: 128 unless said otherwise, and never more
  /// than `highestDepth`. A deeper text is refused with `depthExceeded` where it becomes too deep.
  public let maximumDepth: Int

  /// Limits with that depth, brought into 0…`highestDepth`. At 0 only values that hold no others pass.
  public init(maximumDepth: Int = 128) {
    self.maximumDepth = min(max(maximumDepth, 0), Self.highestDepth)
  }

  /// The limits for text from outside.
  public static let standard = JSONLimits()
}
