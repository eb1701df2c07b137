import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLiteStore

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

  @Test("Throttled units beyond their owner's half of the capacity fail at once, and other owners' units do not")
  func tooMany() async throws {
    let writer = try Clocked()
    let gate = Gate()
    try await writer.fixture.hold(gate)
    try writer.submit("a0", of: Self.ann, taking: 20)
    let names = (1...WriteThrottleLimits.capacity / 2).map { "a\($0)" }
    for name in names + ["one more"] { try writer.submit(name, of: Self.ann) }
    try writer.submit("b", of: Self.bob)
    gate.open()
    writer.fixture.writer.shutDown()
    let refusal = PoolOverloadedError(pool: "throttled writes", capacity: WriteThrottleLimits.capacity)
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

  @Test("The time of other units in its group does not count for a throttled unit")
  func othersInGroup() {
    var throttle = WriteThrottle<WriteUnit>()
    throttle.begin()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 20 * Self.millisecond)
    for _ in 1...2 { #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .waits) }
    #expect(throttle.next(now: 200 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    throttle.begin(alone: Self.ann)
    // For example a unit that was postponed.
    throttle.note(Self.unit(Self.bob), took: 9 * Self.millisecond, now: 209 * Self.millisecond)
    throttle.note(Self.unit(Self.ann), took: 1 * Self.millisecond, now: 210 * Self.millisecond)
    throttle.endAlone(took: throttle.timeAlone, now: 1_000 * Self.millisecond)
    throttle.begin()
    #expect(throttle.next(now: 1_008 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 1_009 * Self.millisecond, othersWait: true)?.owner == Self.ann)
  }

  @Test("A throttled unit rests nine times the last duration if others wait, and not at all otherwise")
  func rest() {
    var throttle = WriteThrottle<WriteUnit>()
    throttle.begin()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 100 * Self.millisecond)
    for _ in 1...3 { #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .waits) }
    #expect(throttle.next(now: 279 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 280 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    throttle.note(Self.unit(Self.ann), took: 1 * Self.millisecond, now: 281 * Self.millisecond)
    #expect(throttle.next(now: 289 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 289 * Self.millisecond, othersWait: false) != nil)
    throttle.note(Self.unit(Self.ann), took: 3_600_000 * Self.millisecond, now: 0)
    #expect(throttle.next(now: 5_000 * Self.millisecond, othersWait: true) != nil)
    #expect(throttle.isEmpty)
  }

  @Test("Between two throttled units that are quick, the writer runs others")
  func alternation() async throws {
    let writer = try Clocked(groupLimit: 1)
    let gate = Gate()
    try await writer.fixture.hold(gate)
    try writer.submit("a1", of: Self.ann, taking: 20)
    for name in ["a2", "a3"] { try writer.submit(name, of: Self.ann) }
    // The rest of nine times 20 milliseconds is over when b has run.
    try writer.submit("b", of: nil, taking: 180)
    for name in ["c", "d"] { try writer.submit(name, of: nil) }
    gate.open()
    await eventually { writer.order.all.count == 6 }
    #expect(writer.order.all == ["a1", "b", "a2", "c", "a3", "d"])
  }

  @Test("After a quick throttled unit, others come first, and its commit counts for the rest")
  func quick() {
    var throttle = WriteThrottle<WriteUnit>()
    throttle.begin()
    throttle.note(Self.unit(Self.ann), took: 20 * Self.millisecond, now: 20 * Self.millisecond)
    for _ in 1...3 { #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .waits) }
    #expect(throttle.next(now: 200 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    throttle.begin(alone: Self.ann)
    throttle.note(Self.unit(Self.ann), took: 1000, now: 200 * Self.millisecond)
    throttle.endAlone(took: 2 * Self.millisecond, now: 202 * Self.millisecond)
    #expect(throttle.next(now: 300 * Self.millisecond, othersWait: true)?.owner == nil)
    throttle.begin()
    #expect(throttle.next(now: 219 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 220 * Self.millisecond, othersWait: true)?.owner == Self.ann)
    #expect(throttle.next(now: 220 * Self.millisecond, othersWait: false)?.owner == Self.ann)
  }

  @Test("A throttled unit rests only if another owner has written recently")
  func lately() {
    var throttle = WriteThrottle<WriteUnit>()
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
    var throttle = WriteThrottle<WriteUnit>()
    for group in 1...3 {
      throttle.begin()
      for _ in 1...4 { throttle.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0) }
      #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .unthrottled, "\(group)")
    }
    throttle.note(Self.unit(Self.ann), took: 2 * Self.millisecond, now: 0)
    #expect(throttle.admit(Self.unit(Self.bob), now: 0) == .unthrottled)
    #expect(throttle.admit(Self.unit(nil), now: 0) == .unthrottled)
    #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .waits)
    // A quick unit releases the owner, once none of its units wait.
    throttle.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .waits)
    while throttle.next(now: 0, othersWait: false) != nil {}
    throttle.note(Self.unit(Self.ann), took: 1000, now: 0)
    #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .unthrottled)
  }

  /// Admits units of the owner until one does not wait. Returns how many wait.
  private static func fill(_ throttle: inout WriteThrottle<WriteUnit>, _ owner: WriteOwner) -> Int {
    var count = 0
    while throttle.admit(unit(owner), now: 0) == .waits { count += 1 }
    return count
  }

  @Test("An owner gets half of the places that others leave, and owners take turns")
  func turns() {
    var throttle = WriteThrottle<WriteUnit>()
    for owner in [Self.ann, Self.bob] { throttle.note(Self.unit(owner), took: 20 * Self.millisecond, now: 0) }
    let count = Self.fill(&throttle, Self.ann)
    #expect(count == WriteThrottleLimits.capacity / 2)
    #expect(throttle.admit(Self.unit(Self.ann), now: 0) == .full)
    #expect(throttle.admit(Self.unit(nil), now: 0) == .unthrottled)
    for _ in 1...2 { #expect(throttle.admit(Self.unit(Self.bob), now: 0) == .waits) }
    var owners: [WriteOwner] = []
    for _ in 1...5 {
      if let owner = throttle.next(now: 0, othersWait: false)?.owner { owners.append(owner) }
    }
    #expect(owners == [Self.ann, Self.bob, Self.ann, Self.bob, Self.ann])
  }

  @Test("The owners of a network together get half of the places that others leave, and each one half of these")
  func placesOfNetwork() {
    var throttle = WriteThrottle<WriteUnit>()
    throttle.note(Self.unit(WriteOwner(2, 1, network: 1)), took: 150 * Self.millisecond, now: 0)
    throttle.note(Self.unit(WriteOwner(3, 1, network: 2)), took: 1000, now: 0)
    throttle.note(Self.unit(Self.bob), took: 20 * Self.millisecond, now: 0)
    var counts: [Int] = []
    for number: UInt64 in 1...20 { counts.append(Self.fill(&throttle, WriteOwner(2, number, network: 1))) }
    #expect(Array(counts.prefix(3)) == [64, 32, 16])
    #expect(counts.reduce(0, +) == WriteThrottleLimits.capacity / 2)
    let others = Self.fill(&throttle, Self.bob)
    #expect(others == WriteThrottleLimits.capacity / 4)
  }

  @Test("Owners of a network share the time that they take before they are throttled, if another network writes")
  func network() {
    var throttle = WriteThrottle<WriteUnit>()
    func owner(_ number: UInt64, _ network: Int) -> WriteUnit { Self.unit(WriteOwner(2, number, network: network)) }
    // Each owner is new. Three of them take more than 100 ms together.
    for number: UInt64 in 1...3 {
      throttle.begin()
      #expect(throttle.admit(owner(number, 1), now: 0) == .unthrottled)
      throttle.note(owner(number, 1), took: 50 * Self.millisecond, now: 0)
    }
    // All clients may have the network of a reverse proxy.
    #expect(throttle.admit(owner(4, 1), now: 0) == .unthrottled)
    throttle.begin()
    throttle.note(owner(100, 2), took: 1000, now: 0)
    #expect(throttle.admit(owner(101, 2), now: 0) == .unthrottled)
    #expect(throttle.admit(owner(4, 1), now: 0) == .waits)
    // Its turn comes as that of any throttled unit. It does not count as another network's.
    #expect(throttle.next(now: 449 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.next(now: 450 * Self.millisecond, othersWait: true)?.owner == WriteOwner(2, 4))
    throttle.begin(alone: WriteOwner(2, 4))
    throttle.note(owner(4, 1), took: 5 * Self.millisecond, now: 450 * Self.millisecond)
    #expect(throttle.admit(owner(5, 1), now: 450 * Self.millisecond) == .waits)
    #expect(throttle.next(now: 494 * Self.millisecond, othersWait: true)?.owner == nil)
    #expect(throttle.timeToRest(now: 494 * Self.millisecond) == nil)
    // After ten times the time above the limit, new owners run again. Those that wait keep their order.
    #expect(throttle.admit(owner(6, 1), now: 499 * Self.millisecond) == .waits)
    #expect(throttle.admit(owner(7, 1), now: 500 * Self.millisecond) == .unthrottled)
    #expect(throttle.admit(owner(6, 1), now: 500 * Self.millisecond) == .waits)
  }

  @Test("A unit waits behind earlier units of its owner, even if the owner's network is no longer throttled")
  func orderInNetwork() {
    var throttle = WriteThrottle<WriteUnit>()
    throttle.note(Self.unit(WriteOwner(2, 1, network: 1)), took: 150 * Self.millisecond, now: 0)
    throttle.note(Self.unit(WriteOwner(2, 2, network: 2)), took: 1000, now: 0)
    let unit = Self.unit(WriteOwner(2, 3, network: 1))
    #expect(throttle.admit(unit, now: 0) == .waits)
    throttle.begin()
    // The first owner is released, and the network has paid.
    throttle.note(Self.unit(WriteOwner(2, 1, network: 1)), took: 1000, now: 1)
    #expect(throttle.admit(Self.unit(WriteOwner(2, 1, network: 1)), now: 5_000 * Self.millisecond) == .unthrottled)
    #expect(throttle.admit(unit, now: 5_000 * Self.millisecond) == .waits)
    while throttle.next(now: 0, othersWait: false) != nil {}
    #expect(throttle.admit(unit, now: 5_000 * Self.millisecond) == .unthrottled)
  }

  @Test("If too many owners are slow, those whose units do not wait start again")
  func manySlowOwners() {
    var throttle = WriteThrottle<WriteUnit>()
    let first = Self.unit(Self.ann)
    throttle.note(first, took: 20 * Self.millisecond, now: 0)
    #expect(throttle.admit(first, now: 0) == .waits)
    for number: UInt64 in 1...4_096 {
      throttle.note(Self.unit(WriteOwner(2, number)), took: 20 * Self.millisecond, now: 0)
    }
    #expect(throttle.admit(first, now: 0) == .waits)
    #expect(throttle.admit(Self.unit(WriteOwner(2, 4_095)), now: 0) == .unthrottled)
    #expect(throttle.admit(Self.unit(WriteOwner(2, 4_096)), now: 0) == .waits)
  }
}
