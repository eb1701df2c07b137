/// How long a commit is put off for those who are about to write again.
///
/// Whoever was just told that their write is on disk often has another one. Where many write at once, one half of them would
/// come back while the other half's commit runs, and each commit would hold half of what it could. On a slow disk that is
/// many writes a second less, and so a transaction waits for those whose writes were in the last one, half of what a commit
/// takes at most. Where a commit takes less than being woken so often costs, and for whoever writes alone, nothing is
/// waited for.
struct CommitDelay {
  /// Which part of a commit's time is waited at most.
  private static let share: Int64 = 2
  /// Commits that take less than this, in nanoseconds, aren't worth waiting for.
  private static let slowCommit: Int64 = 2_000_000

  /// How many there seem to be who write: those of the last group, and those who came while it was committed.
  private var expected = 0
  private var commitTime: Int64 = 0
  private var end: Int64?

  /// A transaction begins.
  mutating func begin() { end = nil }

  /// How long to wait for one more unit, in nanoseconds; nil where it isn't worth it any more.
  mutating func timeToWait(with count: Int, now: Int64) -> Int64? {
    guard commitTime >= Self.slowCommit, count < expected else { return nil }
    let end = end ?? now + commitTime / Self.share
    self.end = end
    return end > now ? end - now : nil
  }

  /// A group was committed.
  ///
  /// - Parameters:
  ///   - count: How many units it had.
  ///   - time: How long the commit took, in nanoseconds.
  ///   - waiting: How many units have come since it began.
  mutating func noteCommit(of count: Int, time: Int64, waiting: Int) {
    expected = count + waiting
    commitTime = time
  }
}
