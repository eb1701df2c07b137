import LockstepLogging
import LockstepSQLite
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepStore

@Suite("The log of the health of the store", .timeLimit(.minutes(10)))
struct HealthLogTests {
  private struct Failure: Error {}

  @Test("A failure that a standstill explains has no line for its end, and a later failure has both lines")
  func standstill() {
    let log = LogRecorder()
    let standstill = LockedState<Duration?>(.seconds(5))
    let logger = Logger(level: .info, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { log.record($0) }
    let health = HealthLog(logger) { standstill.withLock { $0 } }
    health.note(.began(.commit, Failure()))
    health.note(.ended(.commit))
    standstill.withLock { $0 = nil }
    health.note(.began(.commit, Failure()))
    health.note(.ended(.commit))
    let words = [
      "WARNING the database ended work of this node, which stood still", "ERROR nothing can be written to the store",
      "INFO the store can be written again",
    ]
    #expect(log.lines.count == words.count)
    for (line, words) in zip(log.lines, words) { #expect(line.contains(words)) }
  }
}
