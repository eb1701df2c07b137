import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Effects", .timeLimit(.minutes(10)))
struct EffectTests {
  let scheduler = TestScheduler()
  var clock: VirtualClock { scheduler.clock }

  private func record(_ effect: Effect<String>, from: Int = 0) -> TestObserver<String> {
    let observer = scheduler.createObserver(String.self)
    scheduler.scheduleAt(from) {
      do {
        try await effect.perform(Emitter { observer.next($0) })
        observer.on(.completed)
      } catch {
        observer.on(.error(error))
      }
    }
    scheduler.start()
    return observer
  }

  private func after(_ seconds: Int, _ mutation: String) -> Effect<String> {
    .run { [clock] emit in
      try await clock.sleep(for: .seconds(seconds))
      try await emit(mutation)
    }
  }

  @Test("An effect has no, one or many immediate mutations")
  func immediate() throws {
    #expect(try Effect<Int>.none.immediateMutations?.get() == [])
    #expect(try Effect.just(1).immediateMutations?.get() == [1])
    #expect(try Effect.of(1, 2, 3).immediateMutations?.get() == [1, 2, 3])
    #expect(try Effect.concat(.just(1), .none, .of(2, 3)).immediateMutations?.get() == [1, 2, 3])
    #expect(try Effect.merge(.just(1), .of(2, 3)).immediateMutations?.get() == [1, 2, 3])
    for failing: Effect<Int> in [
      .failure(Broken()), .concat(.just(1), .failure(Broken())), .merge(.just(1), .failure(Broken())),
      .merge(.failure(Broken()), .failure(Broken(name: "second")), .run { _ in }),
    ] {
      #expect(throws: Broken()) { try failing.immediateMutations?.get() }
    }
    #expect(Effect<Int>.run { _ in }.immediateMutations == nil)
  }

  @Test("`concat` runs effects one after another")
  func concat() {
    let observer = record(.concat(.just("a"), after(10, "b"), .just("c"), after(10, "d")))
    #expect(observer.events == [.next(0, "a"), .next(10, "b"), .next(10, "c"), .next(20, "d"), .completed(20)])
  }

  @Test("The first failure ends a `concat`")
  func concatFails() {
    let observer = record(.concat(.just("a"), after(10, "b"), .failure(Broken()), .just("c")))
    #expect(observer.events == [.next(0, "a"), .next(10, "b"), .error(10, Broken())])
    #expect(record(.concat(.failure(Broken()), .just("c"))).elements == [])
  }

  @Test("`merge` runs effects in parallel")
  func merge() {
    let observer = record(.merge(after(20, "b"), .just("a"), after(10, "c")))
    #expect(observer.events == [.next(0, "a"), .next(10, "c"), .next(20, "b"), .completed(20)])
  }

  @Test("The first failure cancels the other effects of a `merge`")
  func mergeFails() {
    let failing = Effect<String>.concat(after(5, "x"), .failure(Broken()))
    let observer = record(.merge(after(20, "b"), failing))
    #expect(observer.events == [.next(5, "x"), .error(5, Broken())])
  }

  @Test("An immediate failure in a `merge` comes after the immediate mutations")
  func mergeFailsAtOnce() {
    let observer = record(.merge(.just("a"), after(20, "b"), .failure(Broken()), .just("c")))
    #expect(observer.events == [.next(0, "a"), .next(0, "c"), .error(0, Broken())])
  }

  @Test("A stream emits its elements, and its error is the error of the effect")
  func stream() {
    let cold = scheduler.createColdSequence([.next(10, "a"), .next(20, "b"), .error(30, Broken())])
    let observer = record(.stream(cold))
    #expect(observer.events == [.next(10, "a"), .next(20, "b"), .error(30, Broken())])
  }

  @Test("A journal of mutations rebuilds the state without a host")
  func replay() {
    #expect(Script.replay(["a", "b", "c"], from: "") == "a b c")
    #expect(Script.replay([], from: "x") == "x")
  }
}
