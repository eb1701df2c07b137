import LockstepReactor
import Synchronization

/// Replaces a reactor in a test of a view: records the actions and shows any state.
public final class StubReactor<Action: Sendable, State: Sendable & Equatable>: ViewModel {
  private struct Contents: Sendable {
    var actions: [Action] = []
    var result = SendResult.accepted
  }

  private let latest: Latest<State>
  private let contents = Mutex(Contents())

  /// Makes a stub that shows `state`.
  public init(state: State) {
    latest = Latest(state)
  }

  /// The actions sent so far, including refused ones.
  public var actions: [Action] { contents.withLock(\.actions) }

  /// The result of `send`. The default is `.accepted`.
  public var sendResult: SendResult {
    get { contents.withLock(\.result) }
    set { contents.withLock { $0.result = newValue } }
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
      return contents.result
    }
  }

  /// The newest state.
  public var currentState: State { latest.value }
  /// The latest state at once, then each newer one that differs.
  public var states: LatestValues<State> { latest.values }
}
