import LockstepThreading

extension DatabaseWriter {
  package struct Options: Sendable {
    /// How many units may wait, at least 1.
    let capacity: Int
    /// The largest number of units in a transaction, at least 1.
    let groupLimit: Int
    /// How many pages the WAL grows by before a checkpoint, at least 1. The default is about 16
    /// MiB of 4-KiB pages. A larger value means fewer but longer pauses and less work in total,
    /// because a page that changed many times is moved once. Up to 4,062 pages, SQLite finds a
    /// page in the WAL in one step.
    let checkpointPages: Int
    /// How long a checkpoint waits for readers if the WAL is eight times as long as usual, or
    /// longer.
    let checkpointTimeout: Duration
    /// Counts the units that have not ended. Nil: nothing counts them.
    let counter: WorkCounter?

    package init(
      capacity: Int = 4_096,
      groupLimit: Int = 256,
      checkpointPages: Int = 4_000,
      checkpointTimeout: Duration = .milliseconds(100),
      counter: WorkCounter? = nil
    ) {
      self.capacity = max(1, capacity)
      self.groupLimit = max(1, groupLimit)
      self.checkpointPages = max(1, checkpointPages)
      self.checkpointTimeout = checkpointTimeout
      self.counter = counter
    }
  }

  /// The statistics of a writer since its start.
  package struct Statistics: Sendable, Equatable {
    /// Units that were committed.
    package internal(set) var units = 0
    /// Units that failed, alone or with their group.
    package internal(set) var failedUnits = 0
    /// Groups that were committed.
    package internal(set) var commits = 0
    /// Groups that failed as a whole.
    package internal(set) var failedCommits = 0
    package internal(set) var largestGroup = 0
    /// Units that wait now.
    package internal(set) var waiting = 0
    /// The time of each commit, in nanoseconds: from `COMMIT` until the group was on disk.
    package internal(set) var commitTime = Histogram(bounds: Self.commitTimeBounds)
    package internal(set) var groupSize = Histogram(bounds: Self.groupSizeBounds)
    /// The number of pages in the WAL after the last commit.
    package internal(set) var logPages = 0
    /// Checkpoints that failed. The WAL keeps its contents and grows.
    package internal(set) var failedCheckpoints = 0
    /// The time of each checkpoint that did not fail, in nanoseconds.
    package internal(set) var checkpointTime = Histogram(bounds: Self.commitTimeBounds)

    package init() {}

    /// Sets how many units wait.
    package mutating func setWaiting(_ count: Int) { waiting = count }

    package mutating func countFailed(_ count: Int) { failedUnits += count }

    package mutating func countFailedCommit(of size: Int) {
      failedCommits += 1
      failedUnits += size
    }

    package mutating func countCommit(of size: Int, failed: Int, time: Int64) {
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
package struct Histogram: Sendable, Equatable {
  /// The upper bounds of the ranges, inclusive and ascending. The last range has no upper bound.
  package let bounds: [Int64]
  /// The number of measurements in each range. There is one more range than there are bounds.
  package private(set) var counts: [Int]
  /// The sum of all measurements.
  package private(set) var sum: Int64 = 0

  package init(bounds: [Int64]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  package var count: Int { counts.reduce(0, +) }

  package mutating func record(_ measure: Int64) {
    counts[bounds.firstIndex { measure <= $0 } ?? bounds.count] += 1
    sum += measure
  }

  /// Adds the measurements of a histogram with the same bounds.
  package mutating func add(_ other: Histogram) {
    for (index, count) in other.counts.enumerated() { counts[index] += count }
    sum += other.sum
  }
}
