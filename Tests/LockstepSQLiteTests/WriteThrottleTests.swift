import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLite

@Suite("The write throttle", .timeLimit(.minutes(10)))
struct WriteThrottleTests {
  private static let ann = WriteOwner(1, 1)
  private static let bob = WriteOwner(1, 2)
  private static let millisecond: Int64 = 1_000_000

  private static func unit(_ owner: WriteOwner?) -> WriteUnit {
    WriteUnit(run: { _ in {} }, fail: { _ in }, throwsUnwritten: false, owner: owner)
  }

  /// A writer with a clock that its units advance.
  private struct Clocked {
    let fixture: WriterFixture
    let order = Log<String>()
    private let clock: LockedState<Int64>

    init(groupLimit: Int = 256) throws {
      let clock = LockedState<Int64>(0)
      self.clock = clock
      fixture = try WriterFixture(options: .init(groupLimit: groupLimit), monotonic: { clock.withLock { $0 } })
    }

    /// Submits a unit that takes `time` milliseconds.
    func submit(_ name: String, of owner: WriteOwner?, taking time: Int64 = 0) throws {
      let (clock, order) = (clock, order)
      try fixture.writer.submit(
        { _ in
          clock.withLock { $0 += time * WriteThrottleTests.millisecond }
          order.add(name)
        },
        of: owner,
        completion: { if case .failure(let error) = $0 { order.add("\(name): \(error)") } }
      )
    }
  }

  @Test("Slow owners' units run after others, in order")
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

  @Test("A throttled unit runs after its rest, even if others wait")
  func turn() async throws {
    let writer = try Clocked(groupLimit: 1)
    let gate = Gate()
    try await writer.fixture.hold(gate)
    for name in ["a1", "a2"] { try writer.submit(name, of: Self.ann, taking: 20) }
    // The rest of nine times 20 milliseconds is over when b has run.
    try writer.submit("b", of: nil, taking: 180)
    try writer.submit("c", of: nil)
    gate.open()
    // The test waits, because a writer that is shutting down does not let units rest.
    await eventually { writer.order.all.count == 4 }
    #expect(writer.order.all == ["a1", "b", "a2", "c"])
  }

  @Test("Throttled units beyond the capacity fail at once, and other owners' units do not")
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
    let refusal = PoolOverloadedError(pool: "throttled writes", capacity: WriteThrottle.capacity)
    #expect(writer.order.all == ["a0", "one more: \(refusal)", "b"] + names)
  }

  @Test("An owner that submits one unit after another is not delayed")
  func oneAfterTheOther() async throws {
    let writer = try Clocked()
    let gate = Gate()
    try await writer.fixture.hold(gate)
    // After so long a unit, the rest is the longest possible.
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

  @Test("A throttled unit rests nine times the last duration if others wait, and not at all otherwise")
  func rest() {
    var throttle = WriteThrottle()
    throttle.begin()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 100 * Self.millisecond)
    for _ in 1...3 { #expect(throttle.admit(Self.unit(Self.ann)) == .waits) }
    #expect(throttle.next(now: 279 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 280 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    throttle.note(Self.unit(Self.ann), took: 1 * Self.millisecond, now: 281 * Self.millisecond)
    #expect(throttle.next(now: 289 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 289 * Self.millisecond, othersWait: false) != nil)
    throttle.note(Self.unit(Self.ann), took: 3_600_000 * Self.millisecond, now: 0)
    #expect(throttle.next(now: 5_000 * Self.millisecond, othersWait: true) != nil)
    #expect(throttle.isEmpty)
  }

  @Test("A throttled unit rests only if another owner has written recently")
  func lately() {
    var throttle = WriteThrottle()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 20 * Self.millisecond)
    #expect(throttle.timeToRest(now: 20 * Self.millisecond) == nil)
    throttle.note(Self.unit(Self.bob), took: 1000, now: 30 * Self.millisecond)
    #expect(throttle.timeToRest(now: 50 * Self.millisecond) == 150 * Self.millisecond)
    #expect(throttle.timeToRest(now: 200 * Self.millisecond) == nil)
    throttle.note(Self.unit(Self.ann), took: 100 * Self.millisecond, now: 300 * Self.millisecond)
    #expect(throttle.timeToRest(now: 300 * Self.millisecond) == nil)
  }

  @Test("One slow unit, or many in one group, make an owner slow")
  func slow() {
    var throttle = WriteThrottle()
    for group in 1...3 {
      throttle.begin()
      for _ in 1...4 { throttle.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0) }
      #expect(throttle.admit(Self.unit(Self.ann)) == .unthrottled, "\(group)")
    }
    throttle.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0)
    #expect(throttle.admit(Self.unit(Self.bob)) == .unthrottled)
    #expect(throttle.admit(Self.unit(nil)) == .unthrottled)
    #expect(throttle.admit(Self.unit(Self.ann)) == .waits)
    // A quick unit releases the owner, once none of its units wait.
    throttle.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(throttle.admit(Self.unit(Self.ann)) == .waits)
    while throttle.next(now: 0, othersWait: false) != nil {}
    throttle.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(throttle.admit(Self.unit(Self.ann)) == .unthrottled)
  }

  @Test("A full throttle admits no more units")
  func full() {
    var throttle = WriteThrottle()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 0)
    for _ in 1...WriteThrottle.capacity { #expect(throttle.admit(Self.unit(Self.ann)) == .waits) }
    #expect(throttle.admit(Self.unit(Self.ann)) == .full)
    #expect(throttle.admit(Self.unit(Self.bob)) == .unthrottled)
  }
}
