import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("A cached check", .timeLimit(.minutes(10)))
struct CachedCheckTests {
  /// Calls the check on its own executor, so that counting and calling are one step.
  private actor Asker {
    let check = CachedCheck<Int>(lifetime: .zero, elapsed: { .zero })
    private(set) var asked = 0
    private(set) var ran = 0
    private var allHaveAsked: CheckedContinuation<Void, Never>?

    /// Calls the check, which ends once `count` callers have called it.
    func ask(untilAsked count: Int) async -> Int {
      asked += 1
      if asked == count { allHaveAsked?.resume() }
      return await check.outcome {
        ran += 1
        let number = ran
        if asked < count { await withCheckedContinuation { allHaveAsked = $0 } }
        return number
      }
    }
  }

  @Test("Callers share the outcome of a running check, even with a lifetime of zero")
  func joined() async {
    let asker = Asker()
    let outcomes = await withTaskGroup(of: Int.self) { group in
      for _ in 1...20 { group.addTask { await asker.ask(untilAsked: 20) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: 1, count: 20))
    #expect(await asker.ran == 1)
    // The next caller runs the check again.
    #expect(await asker.ask(untilAsked: 0) == 2)
  }

  @Test("A cancelled task gets the outcome too, and does not affect others")
  func cancelled() async {
    let asker = Asker()
    let outcomes = await withTaskGroup(of: Int.self) { group in
      for _ in 1...3 { group.addTask { await asker.ask(untilAsked: 3) } }
      group.cancelAll()
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == [1, 1, 1])
  }
}
