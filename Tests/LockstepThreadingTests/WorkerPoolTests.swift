import Foundation
import LockstepTestSupport
import Synchronization
import Testing
import LockstepThreading

@Suite("Worker pools", .timeLimit(.minutes(10)))
struct WorkerPoolTests {
  private struct Failed: Error, Equatable {}

  /// Blocks the pool's threads until it is opened.
  private final class Gate: Sendable {
    private let hasArrival = Atomic(false)
    private let opened = DispatchSemaphore(value: 0)

    /// Called by a worker, which waits.
    func pass() {
      hasArrival.store(true, ordering: .releasing)
      opened.wait()
    }

    /// Returns when a worker waits at the gate.
    func arrival() async { await eventually { hasArrival.load(ordering: .acquiring) } }

    /// Lets one worker pass.
    func open() { opened.signal() }
  }

  private final class Log: Sendable {
    private let entries = Mutex<[Int]>([])
    func add(_ entry: Int) { entries.withLock { $0.append(entry) } }
    var all: [Int] { entries.withLock { $0 } }
  }

  /// Checks that a caller continues on its actor.
  private actor Caller {
    func run(on pool: WorkerPool) async throws -> String {
      preconditionIsolated()
      let worker = try await pool.run { Thread.current.description }
      preconditionIsolated()
      return worker
    }
  }

  private func pool(threads: Int = 1, capacity: Int = 4) throws -> WorkerPool {
    try WorkerPool(name: "test", threads: threads, capacity: capacity)
  }

  /// Starts work that blocks the pool's only thread, and returns when it does.
  private func block(_ pool: WorkerPool, with gate: Gate, in group: inout ThrowingTaskGroup<Void, any Error>) async {
    group.addTask { try await pool.run { gate.pass() } }
    await gate.arrival()
  }

  @Test("The caller gets the result of the work, or its error")
  func results() async throws {
    let pool = try pool()
    defer { pool.shutDown() }
    #expect(try await pool.run { 6 * 7 } == 42)
    await #expect(throws: Failed()) { try await pool.run { throw Failed() } }
    #expect(try await pool.run { "still here" } == "still here")
  }

  @Test("Work runs on the pool's threads, which have its name")
  func threads() async throws {
    let pool = try pool(threads: 2)
    defer { pool.shutDown() }
    let name = try await pool.run { try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8) }
    #expect(["test-1\n", "test-2\n"].contains(name))
  }

  @Test("An actor continues on its executor")
  func actors() async throws {
    let pool = try pool()
    defer { pool.shutDown() }
    _ = try await Caller().run(on: pool)
  }

  @Test("A full pool throws at once, and accepts work when there is room again")
  func overload() async throws {
    let pool = try pool(capacity: 1)
    defer { pool.shutDown() }
    let gate = Gate()
    let refused = try await withThrowingTaskGroup(of: Void.self) { group in
      await block(pool, with: gate, in: &group)
      // The first of these two waits in the queue, and the other is refused.
      let refusals = Log()
      for number in 1...2 {
        group.addTask {
          do {
            try await pool.run {}
          } catch let error as PoolOverloadedError {
            #expect(error.description == "the pool \"test\" is overloaded: 1 pieces of work wait already")
            refusals.add(number)
            gate.open()
          }
        }
      }
      try await group.waitForAll()
      return refusals.all.count
    }
    #expect(refused == 1)
    #expect(try await pool.run { true })
  }

  @Test("A single thread runs its work in the order of acceptance")
  func order() async throws {
    let pool = try pool(capacity: 100)
    defer { pool.shutDown() }
    let gate = Gate()
    let log = Log()
    try await withThrowingTaskGroup(of: Void.self) { group in
      await block(pool, with: gate, in: &group)
      for number in 1...50 {
        group.addTask { try await pool.run { log.add(number) } }
        await eventually { pool.waiting == number }
      }
      gate.open()
      try await group.waitForAll()
    }
    #expect(log.all == Array(1...50))
  }

  @Test("Shutting down finishes waiting work, and rejects later work")
  func shutDown() async throws {
    let pool = try pool(capacity: 10)
    let gate = Gate()
    let log = Log()
    try await withThrowingTaskGroup(of: Void.self) { group in
      await block(pool, with: gate, in: &group)
      for number in 1...5 { group.addTask { try await pool.run { log.add(number) } } }
      await eventually { pool.waiting == 5 }
      gate.open()
      pool.shutDown()
      #expect(log.all.count == 5)
      try await group.waitForAll()
    }
    let error = await #expect(throws: PoolShutDownError.self) { try await pool.run {} }
    #expect(error?.description == "the pool \"test\" has been shut down")
    pool.shutDown()
  }

  @Test("Work finishes even if its task is cancelled")
  func cancellation() async throws {
    let pool = try pool()
    defer { pool.shutDown() }
    let gate = Gate()
    let log = Log()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        _ = try? await pool.run {
          gate.pass()
          log.add(1)
        }
      }
      await gate.arrival()
      group.cancelAll()
      gate.open()
    }
    #expect(log.all == [1])
  }

  @Test("Many callers on many threads all get their own result")
  func storm() async throws {
    let pool = try pool(threads: 3, capacity: 10_000)
    defer { pool.shutDown() }
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 1...2_000 { group.addTask { try await pool.run { number } } }
      return try await group.reduce(0, +)
    }
    #expect(sum == 2_001_000)
  }

  /// An object that work refers to.
  private final class Subject: Sendable {
    private let log: Log

    init(_ log: Log) { self.log = log }

    deinit { log.add(1) }
  }

  @Test("Work is released when it has run, also the first one of a thread")
  func released() async throws {
    let pool = try pool()
    defer { pool.shutDown() }
    let released = Log()
    for number in 1...2 {
      try await pool.run { [subject = Subject(released)] in withExtendedLifetime(subject) {} }
      await eventually { released.all.count == number }
    }
  }

  @Test("A released pool ends its threads")
  func dropped() async throws {
    weak var gone: WorkerPool?
    do {
      let pool = try pool()
      gone = pool
      try await pool.run {}
    }
    #expect(gone == nil)
  }
}
