import LockstepLogging
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepStore

@Suite("The log of the health of the store", .timeLimit(.minutes(10)))
struct HealthLogTests {
  private struct Failure: Error {}

  /// Expects lines with these words after changes of the health. At first, a standstill of five seconds explains
  /// failures.
  private static func expect(_ words: [String], after changes: (HealthLog, LockedState<Duration?>) -> Void) {
    let log = LogRecorder()
    let standstill = LockedState<Duration?>(.seconds(5))
    let logger = Logger(level: .info, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { log.record($0) }
    changes(HealthLog(logger) { standstill.withLock { $0 } }, standstill)
    #expect(log.lines.count == words.count)
    for (line, words) in zip(log.lines, words) { #expect(line.contains(words)) }
  }

  @Test("A failure that a standstill explains has no line for its end, and a later failure has both lines")
  func standstill() {
    Self.expect([
      "WARNING the database ended work of this node, which stood still", "ERROR nothing can be written to the store",
      "INFO the store can be written again",
    ]) { health, standstill in
      health.note(.began(.commit, Failure()))
      health.note(.ended(.commit))
      standstill.withLock { $0 = nil }
      health.note(.began(.commit, Failure()))
      health.note(.lasts(.commit, Failure()))
      health.note(.ended(.commit))
    }
  }

  @Test("A failure that lasts is logged with its end, even if a standstill has explained its beginning")
  func lasting() {
    Self.expect([
      "WARNING the database ended work of this node, which stood still", "ERROR nothing can be written to the store",
      "INFO the store can be written again",
    ]) { health, _ in
      health.note(.began(.commit, Failure()))
      health.note(.lasts(.commit, Failure()))
      health.note(.ended(.commit))
    }
  }
}
