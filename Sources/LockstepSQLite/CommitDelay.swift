/// Decides how long a commit waits for more units.
///
/// A client whose write is on disk often writes again. Without a delay, half of the clients would
/// write while the commit of the other half runs, and each group would have half the size.
///
/// So a commit waits for as many units as the last group had, plus those that arrived during its
/// commit. But it waits at most half the time that a commit takes. Quick commits are not delayed,
/// because the wake-ups would cost more. A lone writer is not delayed either.
struct CommitDelay {
  /// The delay is at most the commit time divided by this.
  private static let share: Int64 = 2
  /// In nanoseconds. Quicker commits are not delayed.
  private static let slowCommit: Int64 = 2_000_000

  /// The estimated number of writers: the units of the last group, and those that arrived during
  /// its commit.
  private var expected = 0
  private var commitTime: Int64 = 0
  private var end: Int64?

  /// Starts a transaction.
  mutating func begin() { end = nil }

  /// How many nanoseconds to wait for another unit, or nil to commit now.
  mutating func timeToWait(with count: Int, now: Int64) -> Int64? {
    guard commitTime >= Self.slowCommit, count < expected else { return nil }
    let end = end ?? now + commitTime / Self.share
    self.end = end
    return end > now ? end - now : nil
  }

  /// Records a commit of `count` units that took `time` nanoseconds, while `waiting` more arrived.
  mutating func noteCommit(of count: Int, time: Int64, waiting: Int) {
    expected = count + waiting
    commitTime = time
  }
}
