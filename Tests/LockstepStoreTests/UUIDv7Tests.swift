import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("A UUIDv7", .timeLimit(.minutes(10)))
struct UUIDv7Tests {
  /// The example of RFC 9562, appendix A.6.
  private let example = UUIDv7(milliseconds: 1_645_557_742_000, random12: 0xCC3, random62: 0x18C4_DC0C_0C07_398F)

  @Test("The example of RFC 9562 is written and read as in the RFC")
  func rfc() {
    #expect(example.description == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    #expect(UUIDv7("017f22e2-79b0-7cc3-98c4-dc0c0c07398f") == example)
    #expect(UUIDv7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F") == example)
    #expect(example.milliseconds == 1_645_557_742_000)
  }

  @Test("Every digit is written at its place")
  func digits() {
    for shift in 0..<62 {
      let id = UUIDv7(
        milliseconds: 1 << Int64(shift % 47),
        random12: 1 << UInt64(shift % 12),
        random62: 1 << UInt64(shift)
      )
      let digits = [id.high, id.low].map { word in
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }
      .joined()
      #expect(id.description.filter { $0 != "-" } == digits)
      #expect(UUIDv7(id.description) == id)
    }
  }

  @Test(
    "Any other text is not a UUIDv7",
    arguments: [
      "", "current", "017f22e279b07cc398c4dc0c0c07398f", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
      "017f22e2-79b0-7cc3-58c4-dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
      "017f22e2-79b0-7cc3-98c4-dc0c0c07398f0",
      "017f22e2-79b0-7cc3-98c4-dc0c0c07398g", "017f22e279b0--7cc3-98c4-dc0c0c07398f",
      "{17f22e2-79b0-7cc3-98c4-dc0c0c07398f",
      "017f22e2-79b0-7cc3-98c4-dc0c0c07398\u{FF46}", "' OR 1=1 --",
    ]
  )
  func malformed(text: String) {
    #expect(UUIDv7(text) == nil)
  }

  @Test("Ids increase even within a millisecond, or if the clock goes back")
  func monotone() throws {
    let times = Mutex<[Int64]>([5_000, 5_000, 5_000, 4_000, 1, 5_001, 5_000, -1, 6_000])
    let sodium = try Sodium()
    let generator = UUIDv7Generator(now: { times.withLock { $0.removeFirst() } }, random: sodium.randomWord)
    let ids = (0..<9).map { _ in generator.next() }
    #expect(ids == ids.sorted() && Set(ids).count == 9)
    #expect(ids.map(\.milliseconds) == [5_000, 5_000, 5_000, 5_000, 5_000, 5_001, 5_001, 5_001, 6_000])
    #expect(ids.map(\.description) == ids.map(\.description).sorted(), "their texts sort in the same order")
  }

  @Test("A million ids of one millisecond increase, even with the largest random numbers")
  func many() {
    let generator = UUIDv7Generator(now: { 7 }, random: { .max })
    var last = generator.next()
    for _ in 0..<1_000_000 {
      let next = generator.next()
      guard next > last, next.milliseconds == 7 else {
        Issue.record("\(next) follows \(last)")
        return
      }
      last = next
    }
  }

  @Test("Concurrent threads never get the same id")
  func concurrent() async throws {
    let sodium = try Sodium()
    let generator = UUIDv7Generator(now: { 1_000 }, random: sodium.randomWord)
    let ids = await withTaskGroup(of: [UUIDv7].self) { group in
      for _ in 0..<8 { group.addTask { (0..<500).map { _ in generator.next() } } }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(ids).count == 4_000)
  }

  @Test("An impossible clock still gives ids", arguments: [Int64.min, -1, 0, 1 << 48, Int64.max])
  func extremes(time: Int64) {
    let id = UUIDv7Generator(now: { time }, random: { 0 }).next()
    #expect(UUIDv7(id.description) == id)
    #expect(id.milliseconds == min(max(time, 0), 1 << 48 - 1))
  }

  @Test("A session is named by its id or as the current one")
  func current() {
    let (own, other) = (SessionID(example), SessionID(UUIDv7(milliseconds: 1, random12: 2, random62: 3)))
    #expect(SessionID("current", current: own) == own)
    #expect(SessionID(other.description, current: own) == other)
    #expect(SessionID("Current", current: own) == nil)
  }
}
