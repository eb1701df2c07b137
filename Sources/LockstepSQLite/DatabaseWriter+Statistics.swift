extension DatabaseWriter {
  /// What a writer has done since its start, and what it has before it.
  public struct Statistics: Sendable, Equatable {
    /// Units whose changes are on disk.
    public internal(set) var units = 0
    /// Units that failed, by themselves or with their group.
    public internal(set) var failedUnits = 0
    /// Groups that were committed.
    public internal(set) var commits = 0
    /// Groups that failed as a whole.
    public internal(set) var failedCommits = 0
    /// The most units that a group has had.
    public internal(set) var largestGroup = 0
    /// How many units wait now.
    public internal(set) var waiting = 0
    /// How long commits took, in nanoseconds: from the last unit's end until the disk had it all.
    public internal(set) var commitTime = Histogram(bounds: Self.commitTimeBounds)
    /// How many units the groups had that were committed.
    public internal(set) var groupSize = Histogram(bounds: Self.groupSizeBounds)
    /// How many pages the log holds.
    public internal(set) var logPages = 0
    /// How often the log's contents couldn't be moved into the database: they are safe, but the log grows.
    public internal(set) var failedCheckpoints = 0
    /// How long the log's contents took to be moved into the database, in nanoseconds.
    public internal(set) var checkpointTime = Histogram(bounds: Self.commitTimeBounds)

    /// Those of a writer that has done nothing yet.
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
