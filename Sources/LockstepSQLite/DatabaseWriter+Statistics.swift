extension DatabaseWriter {
  /// The statistics of a writer since its start.
  public struct Statistics: Sendable, Equatable {
    /// Units that were committed.
    public internal(set) var units = 0
    /// Units that failed, alone or with their group.
    public internal(set) var failedUnits = 0
    /// Groups that were committed.
    public internal(set) var commits = 0
    /// Groups that failed as a whole.
    public internal(set) var failedCommits = 0
    /// The size of the largest group.
    public internal(set) var largestGroup = 0
    /// Units that wait now.
    public internal(set) var waiting = 0
    /// The time of each commit, in nanoseconds: from the end of the last unit until the group was
    /// on disk.
    public internal(set) var commitTime = Histogram(bounds: Self.commitTimeBounds)
    /// The size of each committed group.
    public internal(set) var groupSize = Histogram(bounds: Self.groupSizeBounds)
    /// The number of pages in the WAL.
    public internal(set) var logPages = 0
    /// Checkpoints that failed. The WAL keeps its contents and grows.
    public internal(set) var failedCheckpoints = 0
    /// The time of each checkpoint, in nanoseconds.
    public internal(set) var checkpointTime = Histogram(bounds: Self.commitTimeBounds)

    /// The statistics of a new writer.
    public init() {}

    mutating func countCommit(of size: Int, failed: Int, time: Int64) {
      units += size - failed
      failedUnits += failed
      commits += 1
      largestGroup = max(largestGroup, size)
      commitTime.record(time)
      groupSize.record(Int64(size))
    }

    /// 0.1 milliseconds to 2.5 seconds.
    static let commitTimeBounds: [Int64] = [
      100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000,
    ]
    .map { $0 * 1_000 }
    static let groupSizeBounds: [Int64] = [1, 2, 4, 8, 16, 32, 64, 128, 256]
  }
}

/// Counts measurements in fixed ranges.
public struct Histogram: Sendable, Equatable {
  /// The upper bounds of the ranges, inclusive and ascending. The last range has no bound.
  public let bounds: [Int64]
  /// The number of measurements in each range: one more than there are bounds.
  public private(set) var counts: [Int]
  /// The sum of all measurements.
  public private(set) var sum: Int64 = 0

  /// An empty histogram.
  public init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// The number of measurements.
  public var count: Int { counts.reduce(0, +) }

  /// Adds a measurement.
  public mutating func record(_ measure: Int64) {
    counts[bounds.firstIndex { measure <= $0 } ?? bounds.count] += 1
    sum += measure
  }

  /// Adds the measurements of a histogram with the same bounds.
  public mutating func add(_ other: Histogram) {
    for (index, count) in other.counts.enumerated() { counts[index] += count }
    sum += other.sum
  }
}
