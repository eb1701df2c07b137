/// Decides how long a commit waits for more units.
///
/// After its write is on disk, a client often writes again. Without a delay, half of the clients
/// would write during the commit of the other half, and groups would be half as large.
///
/// So a commit waits until its group has as many units as the last group, plus the units that
/// waited after the last commit. The delay is at most half as long as the last commit took. After a
/// quick commit there is no delay, because waking the thread would cost more. A single client that
/// writes is not delayed either.
struct CommitDelay {
  /// The delay is at most `commitTime` divided by this.
  private static let share: Int64 = 2
  /// In nanoseconds. After a quicker commit there is no delay.
  private static let slowCommit: Int64 = 2_000_000

  /// The likely number of units: those of the last group, plus those that waited after it.
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

  /// Records a commit of `count` units that took `time` nanoseconds. `waiting` more units wait now.
  mutating func noteCommit(of count: Int, time: Int64, waiting: Int) {
    expected = count + waiting
    commitTime = time
  }
}
