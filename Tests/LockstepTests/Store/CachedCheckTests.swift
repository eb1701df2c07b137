import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("A shared check")
struct SharedCheckTests {
  /// Asks on its own executor, so that who has been counted has also asked: both happen in one turn of the actor.
  private actor Asker {
    let check = CachedCheck<Int>(lifetime: .zero, elapsed: { .zero })
    private(set) var asked = 0
    private(set) var ran = 0

    /// Asks; whoever has to run the check doesn't end it before so many have asked.
    func ask(untilAsked count: Int) async -> Int {
      asked += 1
      return await check.outcome {
        ran += 1
        let number = ran
        while asked < count { await Task.yield() }
        return number
      }
    }
  }

  @Test("Who asks while it runs gets its outcome, even when outcomes aren't kept at all")
  func joined() async {
    let asker = Asker()
    let outcomes = await withTaskGroup(of: Int.self) { group in
      for _ in 1...20 { group.addTask { await asker.ask(untilAsked: 20) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes == Array(repeating: 1, count: 20))
    #expect(await asker.ran == 1)
    // The next one asks anew.
    #expect(await asker.ask(untilAsked: 0) == 2)
  }

  @Test("A cancelled task gets its outcome as well, and keeps nobody from theirs")
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
