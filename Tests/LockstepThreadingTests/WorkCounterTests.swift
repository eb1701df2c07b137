import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@Suite("Counting work on other threads", .timeLimit(.minutes(10)))
struct WorkCounterTests {
  private struct Failed: Error {}

  @Test("A pool's work is counted until its completion handler has returned")
  func completion() throws {
    let counter = WorkCounter()
    let pool = try WorkerPool(name: "work", threads: 2, capacity: 100, counter: counter)
    let completed = Atomic(0)
    for number in 1...100 {
      try pool.submit({ (_: inout Void) in if number % 2 == 0 { throw Failed() } }) { _ in
        completed.add(1, ordering: .relaxed)
      }
    }
    counter.waitUntilIdle()
    let count = completed.load(ordering: .relaxed)
    #expect(count == 100)
    pool.shutDown()
    #expect(throws: PoolShutDownError.self) { try pool.submit({ (_: inout Void) in }, completion: { _ in }) }
    // The refused work is not counted.
    counter.waitUntilIdle()
  }

  @Test("Work that a completion handler begins is counted too")
  func chain() throws {
    let counter = WorkCounter()
    let pool = try WorkerPool(name: "work", threads: 1, capacity: 100, counter: counter)
    let completed = Atomic(false)
    try pool.submit({ (_: inout Void) in }) { _ in
      try? pool.submit({ (_: inout Void) in }) { _ in completed.store(true, ordering: .releasing) }
    }
    counter.waitUntilIdle()
    let isCompleted = completed.load(ordering: .acquiring)
    #expect(isCompleted)
    pool.shutDown()
  }
}
