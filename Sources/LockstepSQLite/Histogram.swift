/// How often a measure fell into which of some fixed ranges.
public struct Histogram: Sendable, Equatable {
  /// The upper bounds of the ranges, each included, growing. Beyond the last lies one range more, without a bound.
  public let bounds: [Int64]
  /// How many measures fell into each range: one number more than there are bounds.
  public private(set) var counts: [Int]
  /// The sum of all measures.
  public private(set) var sum: Int64 = 0

  /// A histogram of nothing yet.
  public init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// How many measures there were.
  public var count: Int { counts.reduce(0, +) }

  /// Counts a measure.
  public mutating func record(_ measure: Int64) {
    counts[bounds.firstIndex { measure <= $0 } ?? bounds.count] += 1
    sum += measure
  }
}
