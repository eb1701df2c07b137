/// The steps that a check may still take.
struct StepBudget {
  private let total: Int
  private var left: Int
  /// The steps that were left when the check ended early.
  private var unused = 0

  init(_ steps: Int) { (total, left) = (steps, steps) }

  var isExhausted: Bool { left < 0 }

  /// How many steps the check has taken, at most the number that it may take.
  @inline(__always)
  var spent: Int { total - max(left, unused) }

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
  mutating func exhaust() {
    guard left >= 0 else { return }
    unused = left
    left = -1
  }
}
