import Testing
import LockstepThreading

@Suite("The work queue", .timeLimit(.minutes(10)))
struct WorkQueueTests {
  private func queue(_ work: Int..., capacity: Int = 10) throws -> WorkQueue<Int> {
    let queue = WorkQueue<Int>(name: "test", capacity: capacity)
    for work in work { try queue.offer(work) }
    return queue
  }

  @Test("First in, first out, one at a time or many")
  func order() throws {
    let queue = try queue(1, 2, 3, 4, 5)
    #expect(queue.next() == 1)
    #expect(queue.takeWaiting(atMost: 2) == [2, 3])
    try queue.offer(6)
    #expect(queue.count == 3)
    #expect(queue.takeWaiting() == [4, 5, 6])
    #expect(queue.takeWaiting() == [])
    #expect(queue.count == 0)
  }

  @Test("A bounded wait gets existing or new work, and nothing after the time limit")
  func bounded() async throws {
    let queue = try queue(1)
    #expect(queue.next(withinNanoseconds: 0) == 1)
    #expect(queue.next(withinNanoseconds: 0) == nil)
    #expect(queue.next(withinNanoseconds: -1) == nil)
    #expect(queue.next(withinNanoseconds: 1_000_000) == nil)
    let taken = LockedState<[Int?]>([])
    let thread = try NamedThread(name: "taker") {
      let work = queue.next(withinNanoseconds: 3_600_000_000_000)
      taken.withLock { $0.append(work) }
    }
    try queue.offer(2)
    thread.join()
    #expect(taken.withLock { $0 } == [2])
    queue.close()
    #expect(queue.next(withinNanoseconds: 3_600_000_000_000) == nil)
  }

  @Test("Taking work makes room")
  func capacity() throws {
    let queue = try queue(1, 2, capacity: 2)
    #expect(throws: PoolOverloadedError(pool: "test", capacity: 2)) { try queue.offer(3) }
    #expect(queue.takeWaiting(atMost: 1) == [1])
    try queue.offer(4)
    #expect(throws: PoolOverloadedError.self) { try queue.offer(5) }
    #expect(queue.takeWaiting() == [2, 4])
  }

  @Test("A closed queue returns its work, and then nothing")
  func closed() throws {
    let queue = try queue(1, 2)
    queue.close()
    #expect(throws: PoolShutDownError(pool: "test")) { try queue.offer(3) }
    #expect(queue.next() == 1)
    #expect(queue.next() == 2)
    #expect(queue.next() == nil)
  }

  @Test("The queue behaves like an array", arguments: 1...5)
  func model(round: Int) throws {
    let seed = UInt64.random(in: 0 ... .max)
    // A simple generator is enough: it must only give the same numbers for the same seed.
    var state = seed
    func random(_ limit: UInt64) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % limit)
    }
    let queue = WorkQueue<Int>(name: "test", capacity: 20)
    var model: [Int] = []
    for number in 0..<2_000 {
      switch random(4) {
      case 0, 1:
        let isTaken = (try? queue.offer(number)) != nil
        #expect(isTaken == (model.count < 20), "seed \(seed)")
        if isTaken { model.append(number) }
      case 2 where !model.isEmpty:
        #expect(queue.next() == model.removeFirst(), "seed \(seed)")
      default:
        let limit = random(8)
        #expect(queue.takeWaiting(atMost: limit) == Array(model.prefix(limit)), "seed \(seed)")
        model.removeFirst(min(limit, model.count))
      }
      #expect(queue.count == model.count, "seed \(seed)")
    }
  }

  @Test("Work that is ahead is taken first, in its order, but at most three times before other work")
  func ahead() throws {
    let queue = try queue(1, 2, 3, capacity: 9)
    for work in 11...16 { try queue.offer(work, isAhead: true) }
    #expect(throws: PoolOverloadedError.self) { try queue.offer(17, isAhead: true) }
    #expect((0..<8).map { _ in queue.next() } == [11, 12, 13, 1, 14, 15, 16, 2])
    for work in 17...18 { try queue.offer(work, isAhead: true) }
    try queue.offer(4)
    #expect(queue.takeWaiting(atMost: 1) == [17])
    try queue.offer(19, isAhead: true)
    #expect(queue.takeWaiting() == [18, 19, 3, 4])
    try queue.offer(5)
    try queue.offer(20, isAhead: true)
    #expect((0..<2).map { _ in queue.next() } == [20, 5])
  }
}
