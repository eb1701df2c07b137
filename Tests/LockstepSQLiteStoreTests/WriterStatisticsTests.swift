import LockstepSQLiteStore
import Testing
import LockstepTestSupport
import LockstepThreading

@Suite("The writer's statistics", .timeLimit(.minutes(10)))
struct WriterStatisticsTests {
  @Test("They count units, groups and the time of commits, on the injected clock")
  func figures() async throws {
    let now = LockedState<Int64>(0)
    // Each call advances the clock by 0.3 ms: one before a commit, one after it.
    let fixture = try WriterFixture(monotonic: {
      now.withLock { now in
        now += 300_000
        return now
      }
    })
    #expect(fixture.writer.statistics == DatabaseWriter.Statistics())
    let gate = Gate()
    try await fixture.hold(gate)
    for number in 1...4 {
      try fixture.submit(Log()) { connection in
        try connection.keep(number)
        if number == 4 { throw WriterFixture.Refused() }
      }
    }
    #expect(fixture.writer.statistics.waiting == 4)
    gate.open()
    await eventually { fixture.writer.statistics.commits == 1 }
    try await fixture.writer.write { try $0.keep(5) }
    let statistics = fixture.writer.statistics
    #expect(statistics.units == 5)
    #expect(statistics.failedUnits == 1)
    #expect(statistics.commits == 2)
    #expect(statistics.failedCommits == 0)
    #expect(statistics.largestGroup == 5)
    #expect(statistics.waiting == 0)
    #expect(statistics.commitTime.sum == 600_000)
    #expect(statistics.commitTime.counts == [0, 0, 2] + Array(repeating: 0, count: 9))
    #expect(statistics.groupSize.counts == [1, 0, 0, 1, 0, 0, 0, 0, 0, 0])
    #expect(statistics.groupSize.sum == 6)
  }

  @Test(
    "A bound belongs to the range below it",
    arguments: [(0, 0), (10, 0), (11, 1), (20, 1), (21, 2), (Int64.max, 2), (-1, 0)]
  )
  func histogram(measure: Int64, range: Int) {
    var histogram = Histogram(bounds: [10, 20])
    #expect(histogram.counts == [0, 0, 0])
    histogram.record(measure)
    #expect(histogram.counts.firstIndex(of: 1) == range)
    #expect(histogram.count == 1)
    #expect(histogram.sum == measure)
  }
}
