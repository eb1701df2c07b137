/// The steps that a check may still take.
struct StepBudget {
  private var left: Int

  init(_ steps: Int) { left = steps }

  var isExhausted: Bool { left < 0 }

  /// The steps for work on a string that takes time in proportion to its bytes.
  @inline(__always)
  static func steps(forBytes count: Int) -> Int { count / 16 }

  /// Takes steps. Returns false if there are not enough.
  @inline(__always)
  mutating func spend(_ steps: Int) -> Bool {
    left -= steps
    return left >= 0
  }

  @inline(__always)
  mutating func spend(bytes: Int) -> Bool { spend(Self.steps(forBytes: bytes)) }

  /// Ends the check, which has too many levels for the stack.
  mutating func exhaust() { left = -1 }
}
