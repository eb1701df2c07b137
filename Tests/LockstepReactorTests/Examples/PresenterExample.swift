import LockstepReactor
import LockstepReactorTesting
import Testing

/// Counts how often it was prepared.
private struct Presenter: Reactor {
  enum State: Sendable, Equatable {
    case initial
    case prepared(Int)
  }
  enum Action: Sendable { case prepare }

  var initialState: State { .initial }

  static func reduce(_ state: inout State, _ mutation: Action) {
    switch state {
    case .initial: state = .prepared(1)
    case .prepared(let count): state = .prepared(count + 1)
    }
  }
}

@Suite("Example: a presenter", .timeLimit(.minutes(10)))
struct PresenterExample {
  @Test(
    "If it reads a cold sequence of actions from 100 on, the first action arrives at 200 and prepares it"
  )
  func presenterIsPrepared() {
    let scheduler = TestScheduler()
    let host = ReactorHost(Presenter())
    scheduler.run(until: 2000) { await host.run() }
    let states = scheduler.observe(host.states, from: 200)
    let actions = scheduler.createColdSequence([.next(100, Presenter.Action.prepare), .completed(101)])
    scheduler.scheduleAt(100) {
      do { for try await action in actions { host.send(action) } } catch { Issue.record(error) }
    }
    scheduler.start()
    #expect(states.events == [.next(200, .initial), .next(200, .prepared(1))])
    #expect(actions.subscriptions == [Subscription(100, 201)])
  }
}
