import Testing

@testable import LockstepSQLiteStore

@Suite("The commit delay", .timeLimit(.minutes(10)))
struct CommitDelayTests {
  @Test("A lone writer does not wait")
  func alone() {
    var delay = CommitDelay()
    for _ in 1...3 {
      delay.begin()
      #expect(delay.timeToWait(with: 1, now: 0) == nil)
      delay.noteCommit(of: 1, time: 4_000_000, waiting: 0)
    }
  }

  @Test("Quick commits are not delayed")
  func quick() {
    var delay = CommitDelay()
    delay.noteCommit(of: 30, time: 1_999_999, waiting: 34)
    delay.begin()
    #expect(delay.timeToWait(with: 1, now: 0) == nil)
  }

  @Test("A commit waits for the expected units, at most half the commit time")
  func many() {
    var delay = CommitDelay()
    delay.begin()
    delay.noteCommit(of: 30, time: 4_000_000, waiting: 34)
    delay.begin()
    #expect(delay.timeToWait(with: 34, now: 10_000_000) == 2_000_000)
    // The time runs from the first wait.
    #expect(delay.timeToWait(with: 40, now: 10_300_000) == 1_700_000)
    #expect(delay.timeToWait(with: 63, now: 11_999_999) == 1)
    #expect(delay.timeToWait(with: 63, now: 12_000_000) == nil)
    #expect(delay.timeToWait(with: 64, now: 11_999_999) == nil)
    delay.noteCommit(of: 64, time: 6_000_000, waiting: 0)
    delay.begin()
    #expect(delay.timeToWait(with: 1, now: 20_000_000) == 3_000_000)
    // Those units did not come back, so the delay no longer expects them.
    delay.noteCommit(of: 1, time: 6_000_000, waiting: 0)
    delay.begin()
    #expect(delay.timeToWait(with: 1, now: 30_000_000) == nil)
  }
}
