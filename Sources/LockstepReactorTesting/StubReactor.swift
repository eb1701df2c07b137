import LockstepReactor
import Synchronization

/// Stands in for a reactor where a view is tested alone: records the actions, shows any state.
public final class StubReactor<Action: Sendable, State: Sendable & Equatable>: ViewModel {
  private struct Contents: Sendable {
    var actions: [Action] = []
    var admission = SendResult.accepted
  }

  private let latest: Latest<State>
  private let contents = Mutex(Contents())

  /// A stub that shows `state`.
  public init(state: State) {
    latest = Latest(state)
  }

  /// The actions sent so far, refused ones too.
  public var actions: [Action] { contents.withLock(\.actions) }

  /// What `send` answers. `.accepted` unless set.
  public var admission: SendResult {
    get { contents.withLock(\.admission) }
    set { contents.withLock { $0.admission = newValue } }
  }

  /// Shows another state to the view.
  public func show(_ state: State) {
    latest.publish(state)
  }

  /// Records the action.
  @discardableResult
  public func send(_ action: Action) -> SendResult {
    contents.withLock { contents in
      contents.actions.append(action)
      return contents.admission
    }
  }

  /// The state shown last.
  public var currentState: State { latest.value }
  /// The shown states: the latest at once, then distinct ones.
  public var states: LatestValues<State> { latest.values }
}
