/// The steps that a check may still take.
struct StepBudget {
  private var left: Int

  init(_ steps: Int) { left = steps }

  var isExhausted: Bool { left < 0 }

  /// How many bytes of a string cost one step.
  static let bytesPerStep = 16

  /// Takes steps. Returns false if there are not enough.
  @inline(__always)
  mutating func spend(_ steps: Int) -> Bool {
    left -= steps
    return left >= 0
  }

  /// Takes steps for the work on a string that takes time in proportion to its bytes.
  @inline(__always)
  mutating func spend(bytes: Int) -> Bool { spend(bytes / Self.bytesPerStep) }

  /// Ends the check, which has too many levels for the stack.
  mutating func exhaust() { left = -1 }
}
