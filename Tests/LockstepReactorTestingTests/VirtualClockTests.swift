import Foundation
import LockstepReactorTesting
import Testing

@Suite("Virtual clock", .timeLimit(.minutes(10)))
struct VirtualClockTests {
  let scheduler = TestScheduler()
  var clock: VirtualClock { scheduler.clock }

  @Test("Sleepers wake in the order of their deadlines")
  func orderOfTime() {
    let observer = scheduler.createObserver(String.self)
    for (time, name) in [(30, "c"), (10, "a"), (20, "b")] {
      scheduler.scheduleAt(time) { observer.next(name) }
    }
    scheduler.start()
    #expect(observer.events == [.next(10, "a"), .next(20, "b"), .next(30, "c")])
  }

  @Test("Sleepers with the same deadline wake in the order in which they began to sleep")
  func orderOfSleeping() {
    let observer = scheduler.createObserver(Int.self)
    for number in 1...5 { scheduler.scheduleAt(10) { observer.next(number) } }
    scheduler.start()
    #expect(observer.elements == [1, 2, 3, 4, 5])
  }

  @Test("All consequences of one sleeper occur before the next sleeper with the same deadline wakes")
  func causesBeforeTies() {
    let observer = scheduler.createObserver(String.self)
    scheduler.scheduleAt(10) {
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await Task.yield()
          observer.next("first's child")
        }
      }
    }
    scheduler.scheduleAt(10) { observer.next("second") }
    scheduler.start()
    #expect(observer.elements == ["first's child", "second"])
  }

  @Test("`advance(to:)` includes its time, and later sleepers keep sleeping")
  func advanceIsInclusive() {
    let observer = scheduler.createObserver(Int.self)
    for time in [9, 10, 11] { scheduler.scheduleAt(time) { observer.next(time) } }
    scheduler.advance(to: 10)
    #expect(observer.events == [.next(9, 9), .next(10, 10)])
    #expect(clock.sleeperCount == 1)
    #expect(scheduler.time == 10)
  }

  @Test("`advance(by:)` adds to the present time, and time never goes back")
  func advanceBy() {
    clock.advance(by: .seconds(3))
    clock.advance(by: .milliseconds(500))
    #expect(clock.now.offset == .milliseconds(3500))
    clock.advance(to: .init(offset: .seconds(1)))
    #expect(clock.now.offset == .milliseconds(3500))
  }

  @Test("A sleeper that sleeps again wakes within the same advance, at its own time")
  func chainedSleeps() {
    let observer = scheduler.createObserver(Int.self)
    clock.start { [clock] in
      for beat in 1...3 {
        try? await clock.sleep(for: .seconds(10))
        observer.next(beat)
      }
    }
    scheduler.advance(to: 100)
    #expect(observer.events == [.next(10, 1), .next(20, 2), .next(30, 3)])
  }

  @Test("A cancelled sleeper throws CancellationError at once, without an advance")
  func cancelledSleeper() {
    let observer = scheduler.createObserver(String.self)
    let task = clock.start { [clock] in
      do {
        try await clock.sleep(for: .seconds(50))
      } catch {
        observer.next("\(error)")
      }
    }
    clock.settle()
    scheduler.scheduleAt(10) { task.cancel() }
    scheduler.start()
    #expect(observer.events == [.next(10, "CancellationError()")])
    #expect(clock.sleeperCount == 0)
  }

  @Test("A task that is cancelled before it sleeps does not sleep")
  func cancelledBeforeSleep() {
    let observer = scheduler.createObserver(String.self)
    clock.start { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      do { try await clock.sleep(for: .seconds(50)) } catch { observer.next("\(error)") }
    }
    scheduler.start()
    #expect(observer.events == [.next(0, "CancellationError()")])
  }

  @Test("A deadline in the past does not sleep at all")
  func pastDeadline() {
    let observer = scheduler.createObserver(String.self)
    scheduler.advance(to: 20)
    scheduler.scheduleAt(10) { observer.next("late") }
    clock.settle()
    #expect(observer.events == [.next(20, "late")])
  }

  @Test("Child tasks and actors run in virtual time too")
  func structuredWork() {
    actor Adder {
      var sum = 0
      func add(_ number: Int) -> Int {
        sum += number
        return sum
      }
    }
    let observer = scheduler.createObserver(Int.self)
    clock.start { [clock] in
      let adder = Adder()
      await withTaskGroup(of: Void.self) { group in
        for number in 1...3 {
          group.addTask {
            try? await clock.sleep(for: .seconds(number))
            observer.next(await adder.add(number))
          }
        }
      }
    }
    scheduler.start()
    #expect(observer.events == [.next(1, 1), .next(2, 3), .next(3, 6)])
  }

  @Test("A timer without an end is reported, with advice")
  func endlessTimer() {
    let failures = FailureLog()
    let clock = VirtualClock(failures: failures.reporter)
    clock.start { while !Task.isCancelled { try? await clock.sleep(for: .seconds(1)) } }
    clock.run(maximumWakes: 100)
    #expect(
      failures.texts == [
        """
        The virtual clock still has sleepers after 100 wakes: a timer seems to repeat without end.
        Cancel the timer, or move the time with advance(to:) or advance(by:) instead of run().
        """
      ]
    )
  }

  @Test("Code that runs in virtual time cannot advance the clock, and the error says what to do")
  func reentrantAdvance() {
    let failures = FailureLog()
    let clock = VirtualClock(failures: failures.reporter)
    clock.start { clock.advance(by: .seconds(1)) }
    clock.run()
    #expect(clock.now.offset == .zero)
    #expect(
      failures.texts == [
        """
        The virtual clock was moved while it was already moving.
        Move it from the test only. Use sleep in the tasks that run on it.
        """
      ]
    )
  }

  @Test("Work on other threads ends before the time moves on, in the order in which it was handed over")
  func otherThreads() {
    let (threads, work) = (DispatchQueue(label: "other", attributes: .concurrent), DispatchGroup())
    clock.executor.waitAfterEachJob { work.wait() }
    let observer = scheduler.createObserver(String.self)
    for (name, time) in [("slow", 20), ("quick", 1)] {
      scheduler.scheduleAt(10) {
        await withCheckedContinuation { continuation in
          threads.async(group: work) {
            Thread.sleep(forTimeInterval: Double(time) / 1_000)
            continuation.resume()
          }
        }
        observer.next(name)
      }
    }
    scheduler.scheduleAt(11) { observer.next("later") }
    scheduler.start()
    #expect(observer.events == [.next(10, "slow"), .next(10, "quick"), .next(11, "later")])
  }

  @Test("The same tasks give the same record a thousand times")
  func deterministic() {
    func record() -> [Recorded<String>] {
      let scheduler = TestScheduler()
      let clock = scheduler.clock
      let observer = scheduler.createObserver(String.self)
      for task in 0..<8 {
        clock.start {
          for beat in 0..<4 {
            await Task.yield()
            try? await clock.sleep(for: .seconds((task * 7 + beat * 3) % 5))
            observer.next("\(task).\(beat)")
          }
        }
      }
      scheduler.start()
      return observer.events
    }
    let first = record()
    #expect(first.count == 32)
    for _ in 1..<1000 { #expect(record() == first) }
  }
}
