import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

/// Responds to each question after 5 seconds, and records the questions.
final class ScriptedPrompt: RetryPrompt {
  private let clock: VirtualClock
  private let record: TestObserver<String>
  private let answers: Mutex<[Bool]>

  init(_ scheduler: TestScheduler, record: TestObserver<String>, answers: [Bool]) {
    clock = scheduler.clock
    self.record = record
    self.answers = Mutex(answers)
  }

  func confirmRetry(after error: any Error) async -> Bool {
    record.next("ask: \(error)")
    try? await clock.sleep(for: .seconds(5))
    return answers.withLock { $0.isEmpty ? false : $0.removeFirst() }
  }

  func inform(of error: any Error) async {
    record.next("inform: \(error)")
  }
}

@Suite("Retry", .timeLimit(.minutes(10)))
struct RetryTests {
  let scheduler = TestScheduler()

  /// Reads a cold sequence at 100. It has one timeline for each attempt.
  private func record(
    _ timelines: [[Recorded<String>]],
    answers: [Bool],
    canRetry: @escaping @Sendable (any Error) -> Bool = { _ in true },
    until: Int = 1000
  ) -> (rows: [Recorded<String>], subscriptions: [Subscription]) {
    let observer = scheduler.createObserver(String.self)
    let cold = scheduler.createColdSequence(attempts: timelines)
    let prompt = ScriptedPrompt(scheduler, record: observer, answers: answers)
    scheduler.run(from: 100, until: until) {
      do {
        let value = try await retryWhenConfirmed(prompt, canRetry: canRetry) {
          var last = ""
          for try await element in cold { last = element }
          return last
        }
        observer.next("end: \(value ?? "quiet")")
      } catch {
        observer.next("\(error)")
      }
    }
    scheduler.start()
    return (observer.events, cold.subscriptions)
  }

  @Test("After an error the user is asked, and the work runs again if the user agrees")
  func consent() {
    let (rows, subscriptions) = record(
      [[.error(10, Broken())], [.error(20, Broken())], [.next(1, "ok"), .completed(2)]],
      answers: [true, true]
    )
    #expect(
      rows == [
        .next(110, #"ask: Broken(name: "broken")"#), .next(135, #"ask: Broken(name: "broken")"#),
        .next(142, "end: ok"),
      ]
    )
    #expect(subscriptions == [Subscription(100, 110), Subscription(115, 135), Subscription(140, 142)])
  }

  @Test("If the user declines, the work ends without an error")
  func refusal() {
    let (rows, subscriptions) = record([[.error(10, Broken())]], answers: [false])
    #expect(rows == [.next(110, #"ask: Broken(name: "broken")"#), .next(115, "end: quiet")])
    #expect(subscriptions == [Subscription(100, 110)])
  }

  @Test("An error that a retry cannot solve is only shown")
  func inform() {
    let (rows, _) = record([[.error(10, Broken())]], answers: [true], canRetry: { _ in false })
    #expect(rows == [.next(110, #"inform: Broken(name: "broken")"#), .next(110, "end: quiet")])
  }

  @Test("Cancellation is passed on without asking")
  func cancellation() {
    let (rows, _) = record([[.next(500, "late")]], answers: [true], until: 150)
    // The cancelled sequence throws CancellationError from its sleep.
    #expect(rows == [.next(150, "CancellationError()")])
  }

  @Test("Cancellation that appears as another error is passed on without asking", arguments: [true, false])
  func cancellationInDisguise(canRetry: Bool) {
    let observer = scheduler.createObserver(String.self)
    let prompt = ScriptedPrompt(scheduler, record: observer, answers: [true])
    scheduler.run(from: 100, until: 150) { [clock = scheduler.clock] in
      do {
        try await retryWhenConfirmed(prompt, canRetry: { _ in canRetry }) {
          do { try await clock.sleep(for: .seconds(500)) } catch { throw Broken() }
        }
      } catch {
        observer.next("\(error)")
      }
    }
    scheduler.start()
    #expect(observer.events == [.next(150, "CancellationError()")])
  }

  @Test("Cancellation while the prompt asks does not count as declining")
  func cancelledWhileAsking() {
    let (rows, _) = record([[.error(10, Broken())]], answers: [false], until: 112)
    #expect(rows == [.next(110, #"ask: Broken(name: "broken")"#), .next(112, "CancellationError()")])
  }

  @Test("A task that is cancelled in the pause does not retry")
  func cancelledInThePause() {
    let observer = scheduler.createObserver(String.self)
    scheduler.run(from: 100, until: 150) { [clock = scheduler.clock] in
      do {
        try await retry(attempts: 3, pause: { _ in try? await clock.sleep(for: .seconds(100)) }) {
          observer.next("try")
          throw Broken()
        }
      } catch {
        observer.next("\(error)")
      }
    }
    scheduler.start()
    #expect(observer.events == [.next(100, "try"), .next(150, "CancellationError()")])
  }

  @Test("`retry(attempts: n)` makes n attempts in total", arguments: [(1, 1), (3, 3), (0, 1)])
  func attempts(allowed: Int, made: Int) {
    let observer = scheduler.createObserver(String.self)
    let pauses = scheduler.createObserver(Int.self)
    let tries = TryCount()
    scheduler.scheduleAt(100) {
      do {
        try await retry(attempts: allowed, pause: { pauses.next($0) }) {
          tries.add()
          throw Broken()
        }
      } catch {
        observer.next("\(error)")
      }
    }
    scheduler.start()
    #expect(tries.count == made)
    #expect(observer.elements == [#"Broken(name: "broken")"#])
    #expect(pauses.elements == Array(2..<(made + 1)))
  }

  @Test("The first attempt that works is the last one")
  func worksAtLast() async throws {
    let tries = TryCount()
    let value = try await retry(attempts: 5) {
      tries.add()
      if tries.count < 3 { throw Broken() }
      return "value"
    }
    #expect(value == "value")
    #expect(tries.count == 3)
  }
}

private final class TryCount: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}
