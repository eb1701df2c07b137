import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("States of users with queued transactions", .timeLimit(.minutes(10)))
struct DecidedStatesTests {
  /// Notes when it is released whether another thread can reserve a place at that time.
  private final class Probe: Sendable {
    let states: DecidedStates
    let isFree: LockedState<Bool?>

    init(_ states: DecidedStates, _ isFree: LockedState<Bool?>) {
      (self.states, self.isFree) = (states, isFree)
    }

    deinit {
      let hasReserved = LockedState(false)
      let thread = try? NamedThread(name: "other-writer") { [states] in
        _ = states.reserve(SyncFixture.session(2).user) { (nil, ()) }
        hasReserved.withLock { $0 = true }
        hasReserved.wakeAll()
      }
      thread?.detach()
      let isReserved = hasReserved.wait(atMost: 60_000_000_000) { $0 ? true : nil } ?? false
      isFree.withLock { $0 = isReserved }
    }
  }

  @Test("While a reservation releases the states that it has evicted, other users can reserve")
  func eviction() {
    let (states, isFree) = (DecidedStates(), LockedState<Bool?>(nil))
    _ = states.reserve(SyncFixture.session(1).user) { (nil, Probe(states, isFree)) }
    #expect(isFree.withLock { $0 } == true)
  }
}
