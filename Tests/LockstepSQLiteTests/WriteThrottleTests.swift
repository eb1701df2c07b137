import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLite

@Suite("Writes of those whose writes take long")
struct SlowLaneTests {
  private static let ann = WriteOwner(1, 1)
  private static let bob = WriteOwner(1, 2)
  private static let millisecond: Int64 = 1_000_000

  private static func unit(_ owner: WriteOwner?) -> WriteUnit {
    WriteUnit(run: { _ in {} }, fail: { _ in }, throwsUnwritten: false, owner: owner)
  }

  /// A writer with a clock that its units move on.
  private struct Clocked {
    let fixture: WriterFixture
    let order = Log<String>()
    private let clock: LockedState<Int64>

    init(groupLimit: Int = 256) throws {
      let clock = LockedState<Int64>(0)
      self.clock = clock
      fixture = try WriterFixture(options: .init(groupLimit: groupLimit), monotonic: { clock.withLock { $0 } })
    }

    /// Submits a unit that takes so many milliseconds.
    func submit(_ name: String, of owner: WriteOwner?, taking time: Int64 = 0) throws {
      let (clock, order) = (clock, order)
      try fixture.writer.submit(
        { _ in
          clock.withLock { $0 += time * SlowLaneTests.millisecond }
          order.add(name)
        },
        of: owner,
        settled: { if case .failure(let error) = $0 { order.add("\(name): \(error)") } }
      )
    }
  }

  @Test("Let those pass who are quick, keep their order, and are done when nobody else waits")
  func order() async throws {
    let writer = try Clocked()
    let gate = Gate()
    try await writer.fixture.hold(gate)
    for name in ["a1", "a2", "a3"] { try writer.submit(name, of: Self.ann, taking: 20) }
    for name in ["b1", "b2"] { try writer.submit(name, of: Self.bob) }
    try writer.submit("c", of: nil, taking: 20)
    try writer.submit("d", of: nil)
    gate.open()
    writer.fixture.writer.shutDown()
    #expect(writer.order.all == ["a1", "b1", "b2", "c", "d", "a2", "a3"])
  }

  @Test("Have their turn when it's time, though others wait")
  func turn() async throws {
    let writer = try Clocked(groupLimit: 1)
    let gate = Gate()
    try await writer.fixture.hold(gate)
    for name in ["a1", "a2"] { try writer.submit(name, of: Self.ann, taking: 20) }
    // The rest of the slow one, nine times 20 milliseconds, is over when b has run.
    try writer.submit("b", of: nil, taking: 180)
    try writer.submit("c", of: nil)
    gate.open()
    // Not closed before: then nobody would be waited for.
    await eventually { writer.order.all.count == 4 }
    #expect(writer.order.all == ["a1", "b", "a2", "c"])
  }

  @Test("Are told so at once where too many wait, and nobody else is")
  func tooMany() async throws {
    let writer = try Clocked()
    let gate = Gate()
    try await writer.fixture.hold(gate)
    try writer.submit("a0", of: Self.ann, taking: 20)
    let names = (1...WriteThrottle.capacity).map { "a\($0)" }
    for name in names + ["one more"] { try writer.submit(name, of: Self.ann) }
    try writer.submit("b", of: Self.bob)
    gate.open()
    writer.fixture.writer.shutDown()
    let refusal = WorkerPool.Overloaded(pool: "a user's long writes", capacity: WriteThrottle.capacity)
    #expect(writer.order.all == ["a0", "one more: \(refusal)", "b"] + names)
  }

  @Test("Have nobody wait who writes one thing after the other")
  func oneAfterTheOther() async throws {
    let writer = try Clocked()
    let gate = Gate()
    try await writer.fixture.hold(gate)
    // As long as others go first at most.
    for name in ["a1", "a2"] { try writer.submit(name, of: Self.ann, taking: 5_000) }
    try writer.submit("b1", of: Self.bob)
    gate.open()
    for name in ["b2", "b3"] {
      await eventually { writer.order.all.last?.hasPrefix("b") == true }
      try writer.submit(name, of: Self.bob)
      await eventually { writer.order.all.contains(name) }
    }
    writer.fixture.writer.shutDown()
    #expect(writer.order.all == ["a1", "b1", "b2", "b3", "a2"])
  }

  @Test("Wait nine times as long as the last one took where others wait, and not at all where nobody does")
  func rest() {
    var lane = WriteThrottle()
    lane.begin()
    lane.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 100 * Self.millisecond)
    for _ in 1...3 { #expect(lane.admit(Self.unit(Self.ann)) == .waits) }
    #expect(lane.next(now: 279 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(lane.next(now: 280 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    lane.note(Self.unit(Self.ann), took: 1 * Self.millisecond, now: 281 * Self.millisecond)
    #expect(lane.next(now: 289 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(lane.next(now: 289 * Self.millisecond, othersWait: false) != nil)
    lane.note(Self.unit(Self.ann), took: 3_600_000 * Self.millisecond, now: 0)
    #expect(lane.next(now: 5_000 * Self.millisecond, othersWait: true) != nil)
    #expect(lane.isEmpty)
  }

  @Test("Let those go first who have written lately, though they don't wait at this moment")
  func lately() {
    var lane = WriteThrottle()
    lane.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 20 * Self.millisecond)
    #expect(lane.timeToRest(now: 20 * Self.millisecond) == nil)
    lane.note(Self.unit(Self.bob), took: 1000, now: 30 * Self.millisecond)
    #expect(lane.timeToRest(now: 50 * Self.millisecond) == 150 * Self.millisecond)
    #expect(lane.timeToRest(now: 200 * Self.millisecond) == nil)
    lane.note(Self.unit(Self.ann), took: 100 * Self.millisecond, now: 300 * Self.millisecond)
    #expect(lane.timeToRest(now: 300 * Self.millisecond) == nil)
  }

  @Test("Are those who take long at once, or by and by in one group")
  func slow() {
    var lane = WriteThrottle()
    for group in 1...3 {
      lane.begin()
      for _ in 1...4 { lane.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0) }
      #expect(lane.admit(Self.unit(Self.ann)) == .notMine, "\(group)")
    }
    lane.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0)
    #expect(lane.admit(Self.unit(Self.bob)) == .notMine)
    #expect(lane.admit(Self.unit(nil)) == .notMine)
    #expect(lane.admit(Self.unit(Self.ann)) == .waits)
    // One that is quick lets the owner out, once nothing else of theirs waits.
    lane.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(lane.admit(Self.unit(Self.ann)) == .waits)
    while lane.next(now: 0, othersWait: false) != nil {}
    lane.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(lane.admit(Self.unit(Self.ann)) == .notMine)
  }

  @Test("Are refused where too many wait")
  func full() {
    var lane = WriteThrottle()
    lane.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 0)
    for _ in 1...WriteThrottle.capacity { #expect(lane.admit(Self.unit(Self.ann)) == .waits) }
    #expect(lane.admit(Self.unit(Self.ann)) == .full)
    #expect(lane.admit(Self.unit(Self.bob)) == .notMine)
  }
}
