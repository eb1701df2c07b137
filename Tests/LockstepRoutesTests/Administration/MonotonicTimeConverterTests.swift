import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepAdministration

@Suite("Dates of moments of the monotonic clock", .timeLimit(.minutes(10)))
struct MonotonicTimeConverterTests {
  @Test("A moment has the same date each time, until the system's date is changed")
  func dates() {
    let clocks = LockedState((monotonic: Int64(5_000_999_999), milliseconds: Int64(1_000_000)))
    let time = TimeSource(
      monotonic: { clocks.withLock(\.monotonic) },
      millisecondsSince1970: { clocks.withLock(\.milliseconds) }
    )
    let converter = MonotonicTimeConverter(time)
    func date() -> Int64 { converter.time(of: 4_000_999_999).millisecondsSince1970 }
    #expect(date() == 999_000)
    // The clocks are read one after the other, and in other units.
    for nanoseconds: Int64 in [1, 999_999, 30_000_001, 500_000] {
      clocks.withLock { $0 = ($0.monotonic + nanoseconds, $0.milliseconds + nanoseconds / 1_000_000) }
      #expect(date() == 999_000)
    }
    clocks.withLock { $0.milliseconds += 3_600_000 }
    let later = date()
    #expect((4_598_900...4_599_100).contains(later))
    clocks.withLock { $0 = ($0.monotonic + 1_500_000, $0.milliseconds + 2) }
    #expect(date() == later)
  }
}
