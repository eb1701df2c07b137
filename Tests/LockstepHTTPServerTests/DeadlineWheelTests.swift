import LockstepTestSupport
import Testing

@testable import LockstepHTTPServer

@Suite("The deadline wheel returns keys when they are due", .timeLimit(.minutes(10)))
struct DeadlineWheelTests {
  private static let second: Int64 = 1_000_000_000

  @Test("No key is returned before its time, and every key within a tick after it")
  func due() {
    var wheel = DeadlineWheel<String>(now: 0)
    wheel.schedule("ten", at: 10 * Self.second)
    wheel.schedule("one", at: Self.second)
    wheel.schedule("one too", at: Self.second)
    #expect(wheel.advance(to: Self.second - 1).isEmpty)
    #expect(wheel.advance(to: Self.second + 70_000_000) == ["one", "one too"])
    #expect(wheel.advance(to: 9 * Self.second).isEmpty)
    #expect(wheel.advance(to: 11 * Self.second) == ["ten"])
    #expect(wheel.timeUntilNext(from: 11 * Self.second) == nil)
  }

  @Test("A deadline beyond the wheel's range is returned early, so that it can be added again")
  func horizon() {
    var wheel = DeadlineWheel<Int>(now: 0)
    let comesUpAt = wheel.schedule(1, at: 1000 * Self.second)
    #expect(comesUpAt > 100 * Self.second)
    #expect(comesUpAt < 1000 * Self.second)
    #expect(wheel.advance(to: comesUpAt - 1).isEmpty)
    #expect(wheel.advance(to: comesUpAt) == [1])
  }

  @Test("If the clock jumps over many rounds, every key is returned once")
  func jump() {
    var wheel = DeadlineWheel<Int64>(now: 0)
    for key in 0..<1000 { wheel.schedule(Int64(key), at: Int64(key) * 100_000_000) }
    #expect(wheel.advance(to: 100_000 * Self.second).sorted() == Array(0..<1000))
    #expect(wheel.advance(to: 200_000 * Self.second).isEmpty)
  }

  @Test("A key that is already due is returned by the next call")
  func past() {
    var wheel = DeadlineWheel<Int>(now: 100 * Self.second)
    wheel.schedule(1, at: 5)
    #expect(wheel.advance(to: 100 * Self.second + 70_000_000) == [1])
  }

  @Test("Random deadlines agree with a sorted list, step by step (seed printed)")
  func model() {
    var generator = SeededNumbers(seed: TestSeed.make(for: "Deadline wheel"))
    var wheel = DeadlineWheel<Int>(now: 0)
    var expected: [(key: Int, at: Int64)] = []
    var now: Int64 = 0
    for key in 0..<5000 {
      let at = wheel.schedule(key, at: now + Int64(generator.next() % 200_000_000_000))
      expected.append((key, at))
      guard key % 5 == 0 else { continue }
      now += Int64(generator.next() % 3_000_000_000)
      let due = Set(wheel.advance(to: now))
      #expect(due == Set(expected.filter { $0.at <= now }.map(\.key)))
      expected.removeAll { $0.at <= now }
      let next = wheel.timeUntilNext(from: now)
      #expect(next == expected.map(\.at).min().map { $0 - now })
    }
  }
}
