import Testing

@testable import LockstepSQLite

@Suite("How long a commit is put off for those about to write again")
struct GatheringTests {
  @Test("Whoever writes alone waits for nobody")
  func alone() {
    var gathering = CommitDelay()
    for _ in 1...3 {
      gathering.begin()
      #expect(gathering.timeToWait(with: 1, now: 0) == nil)
      gathering.noteCommit(of: 1, time: 4_000_000, waiting: 0)
    }
  }

  @Test("Nobody waits where commits are quick")
  func quick() {
    var gathering = CommitDelay()
    gathering.noteCommit(of: 30, time: 1_999_999, waiting: 34)
    gathering.begin()
    #expect(gathering.timeToWait(with: 1, now: 0) == nil)
  }

  @Test("It's waited for as many as there seem to be, and half of a commit's time at most")
  func many() {
    var gathering = CommitDelay()
    gathering.begin()
    gathering.noteCommit(of: 30, time: 4_000_000, waiting: 34)
    gathering.begin()
    #expect(gathering.timeToWait(with: 34, now: 10_000_000) == 2_000_000)
    // The time runs from the first waiting, whatever comes meanwhile.
    #expect(gathering.timeToWait(with: 40, now: 10_300_000) == 1_700_000)
    #expect(gathering.timeToWait(with: 63, now: 11_999_999) == 1)
    #expect(gathering.timeToWait(with: 63, now: 12_000_000) == nil)
    #expect(gathering.timeToWait(with: 64, now: 11_999_999) == nil)
    gathering.noteCommit(of: 64, time: 6_000_000, waiting: 0)
    gathering.begin()
    #expect(gathering.timeToWait(with: 1, now: 20_000_000) == 3_000_000)
    // They didn't come back, so they aren't expected again.
    gathering.noteCommit(of: 1, time: 6_000_000, waiting: 0)
    gathering.begin()
    #expect(gathering.timeToWait(with: 1, now: 30_000_000) == nil)
  }
}
