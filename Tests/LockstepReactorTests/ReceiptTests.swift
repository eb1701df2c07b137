import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Receipts", .timeLimit(.minutes(10)))
struct ReceiptTests {
  let world = World()

  /// Submits at 100, and records when the receipt is reduced and settled, and with which state or
  /// error.
  private func record(_ action: Script.Action) -> TestObserver<String> {
    let observer = world.scheduler.createObserver(String.self)
    world.scheduler.scheduleAt(100) { [host = world.host] in
      do {
        let receipt = try host.submit(action)
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            do { observer.next("reduced: \(try await receipt.reduced())") } catch { observer.next("reduced: \(error)") }
          }
          group.addTask {
            do { observer.next("settled: \(try await receipt.settled())") } catch { observer.next("settled: \(error)") }
          }
        }
      } catch {
        observer.next("\(error)")
      }
    }
    return observer
  }

  @Test("An action without asynchronous work is reduced and settled at once")
  func immediate() {
    let observer = record(.now("a", "b"))
    world.scheduler.start()
    #expect(observer.events == [.next(100, "reduced: a b"), .next(100, "settled: a b")])
  }

  @Test("`reduced` follows the immediate mutations, and `settled` the end of the effect")
  func withEffect() {
    let clock = world.clock
    let observer = record(
      Script.Action(description: "load") { _ in
        .concat(
          .just("loading"),
          .run { emit in
            try await clock.sleep(for: .seconds(30))
            try await emit("loaded")
          },
          .just("done")
        )
      }
    )
    world.scheduler.start()
    #expect(observer.events == [.next(100, "reduced: loading"), .next(130, "settled: loading loaded done")])
  }

  @Test("The receipt of a refused action throws its error")
  func refused() {
    let observer = record(Script.Action(description: "refused") { _ in .failure(Broken()) })
    world.scheduler.start()
    #expect(
      observer.events == [
        .next(100, #"reduced: Broken(name: "broken")"#), .next(100, #"settled: Broken(name: "broken")"#),
      ]
    )
  }

  @Test("An effect that fails later is reduced, and settles with its error")
  func failsLater() {
    let observer = record(world.clock.steps("work", [(10, "a")], error: Broken()))
    world.scheduler.start()
    #expect(observer.events == [.next(100, "reduced: "), .next(110, #"settled: Broken(name: "broken")"#)])
  }

  @Test("An effect that is cancelled by a newer one settles with CancellationError")
  func cancelled() {
    let observer = record(world.clock.steps("old", policy: .latest("x"), [(50, "old")]))
    world.send(120, world.clock.steps("new", policy: .latest("x"), [(50, "new")]))
    world.scheduler.start()
    #expect(observer.events == [.next(100, "reduced: "), .next(120, "settled: CancellationError()")])
  }

  @Test("An ignored action is settled at once with the present state")
  func ignored() {
    world.send(90, world.clock.steps("first", policy: .first("x"), [(50, "first")]))
    let observer = record(world.clock.steps("second", policy: .first("x"), [(50, "second")]))
    world.scheduler.start()
    #expect(observer.events == [.next(100, "reduced: "), .next(100, "settled: ")])
  }

  @Test("Closing settles all pending actions with CancellationError")
  func closing() {
    let running = record(world.clock.steps("running", policy: .serial("x"), [(5_000, "never")]))
    let waiting = record(world.clock.steps("waiting", policy: .serial("x"), [(5_000, "never")]))
    world.scheduler.start()
    #expect(running.events == [.next(100, "reduced: "), .next(1000, "settled: CancellationError()")])
    #expect(
      waiting.events == [.next(1000, "reduced: CancellationError()"), .next(1000, "settled: CancellationError()")]
    )
  }

  @Test("The error of a full or closed host says why, and what to do")
  func notAdmitted() {
    let full = ReactorHost(Script(clock: world.clock), capacity: 0)
    #expect(throws: AdmissionError.full) { try full.submit(.now("a")) }
    full.close()
    #expect(throws: AdmissionError.closed) { try full.submit(.now("a")) }
    #expect(
      AdmissionError.full.description
        == "The host is at its capacity: too many actions wait or have a running effect. Try again later."
    )
    #expect(AdmissionError.closed.description == "The host is closed and accepts no more actions.")
  }

  @Test("A cancelled caller stops waiting, and the action continues")
  func impatient() {
    let observer = world.scheduler.createObserver(String.self)
    let work = world.clock.steps("work", [(500, "done")])
    world.scheduler.run(from: 100, until: 150) { [host = world.host] in
      do { _ = try await host.submit(work).settled() } catch { observer.next("\(error)") }
    }
    world.scheduler.start()
    #expect(observer.events == [.next(150, "CancellationError()")])
    #expect(world.host.currentState == "done")
  }
}
