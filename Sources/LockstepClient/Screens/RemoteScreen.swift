import Foundation
import LockstepReactor

/// A screen of the server, as a view model: a view that works with a `ReactorHost` works with it unchanged.
///
///     let form = lockstep.screen("workingHistory", initially: WorkingHistory(), actions: WorkingHistoryAction.self)
///     async let running: Void = form.run()            // such as in `.task` of a SwiftUI view
///     form.send(.setCompanyName("Aurora"))
///     for await state in form.states { … }
///     for await route in form.pulses(\.route) { … }   // once each
///
/// `run()` opens the screen, follows it and sends the actions, until its task is cancelled. Then it closes the
/// screen. The view shows the state `initially` until the server has opened the screen.
///
/// ## When the screen is lost
///
/// The server keeps a screen in memory. It ends when it had no request for 15 minutes, such as while the app was
/// suspended, and when the server restarts. Then this object opens a new screen, and the view shows its state: text
/// that the user has typed and not saved is gone. Actions that were sent to the lost screen, or wait, are not
/// performed on the new screen, because they were meant for the lost one. They come out of `failures()`.
///
/// To keep text that the user has typed, pass `restoring`. The closure gets the last state that the view has shown
/// and the state of the new screen, and returns actions that bring the new screen to the last state. The server
/// performs them as one step, before the view sees the new screen. Actions that wait are sent after them.
///
///     restoring: { last, new in [.setCompanyName(last.companyName), .setPosition(last.position)] }
///
/// If the user has logged out, or another user has logged in, the view shows the state `initially` again, and the client
/// does not call `restoring`.
public final class RemoteScreen<Action: ScreenAction, State: Decodable & Equatable & Sendable>: ViewModel {
  let queue: ScreenQueue<Action>
  let outputs: ScreenOutputs<Action, State>
  let connection: ScreenConnection<Action, State>

  init(
    _ place: ScreenPlace,
    initially state: State,
    capacity: Int,
    restoring restore: (@Sendable (_ last: State, _ new: State) -> [Action])?,
    _ environment: ScreenEnvironment
  ) {
    queue = ScreenQueue(capacity: capacity)
    outputs = ScreenOutputs(initially: state)
    connection = ScreenConnection(place, queue, outputs, restoring: restore, environment)
  }

  /// Ends the sequences of a screen that never ran.
  deinit {
    queue.close()
    outputs.finish()
  }

  /// Queues an action. The server performs the actions in the order of `send`, each once, while the screen lives.
  /// Actions that wait during a request go to the server together, as one step. An action that cannot be encoded comes
  /// out of `failures()`.
  @discardableResult
  public func send(_ action: Action) -> SendResult {
    do {
      return queue.admit(try ScreenQueue.Entry(action))
    } catch {
      outputs.fail([action], ClientFailure(.app, "The action cannot be encoded: \(error)"))
      return .accepted
    }
  }

  /// The newest state that the server has sent.
  public var currentState: State { outputs.states.value }

  /// The latest state at once, then each newer one that differs. It ends with `run()`.
  public var states: LatestValues<State> { outputs.states.values }

  /// The pulses of a member of the state, such as `\.route`. Each pulse comes once, even after a new connection or for
  /// a view that appears again.
  public func pulses<Value>(_ member: any KeyPath<State, Value?> & Sendable) -> ScreenPulses<State, Value> {
    ScreenPulses(base: outputs.shown.values, member: member, delivered: outputs.delivered)
  }

  /// The actions that the server does not perform, from now on. Each call returns a new queue with room for `capacity`
  /// failures.
  public func failures(capacity: Int = 256) -> EventStream<ScreenActionFailure<Action>> {
    outputs.failures.events(capacity: capacity)
  }

  /// How many actions the server has not performed yet.
  public var pending: Int { queue.count }

  /// The present status.
  public var status: ScreenStatus { outputs.statuses.value }

  /// The status now and after each change.
  public var statuses: LatestValues<ScreenStatus> { outputs.statuses.values }

  /// Opens the screen, and follows it until the task is cancelled. Then the client closes the screen and drops the
  /// actions that wait, and all sequences end. A `RemoteScreen` runs only once: a second call returns immediately.
  public func run() async { await connection.run() }
}

/// Why the server has not performed an action.
public struct ScreenActionFailure<Action: Sendable>: LocalizedError, Sendable {
  /// The action; nil for the actions that `restoring` has returned.
  public let action: Action?
  /// The cause: the refusal of the server (409, 422), or that the screen was lost.
  public let failure: ClientFailure

  /// The title of the failure, so that it is also the `localizedDescription`.
  public var errorDescription: String? { failure.title }
}

/// The status of a remote screen.
public struct ScreenStatus: Sendable, Equatable {
  /// The connection of this screen to the server, as the last response has shown it.
  public internal(set) var connection = ClientStatus.Connection.stopped
  /// How often the server has opened the screen. If it is more than 1, the screen was lost and opened again.
  public internal(set) var openings = 0
  /// Why there is no connection.
  public internal(set) var failure: ClientFailure?
}

/// The state, the pulses and the failures of a remote screen, as its view sees them.
final class ScreenOutputs<Action: ScreenAction, State: Equatable & Sendable>: Sendable {
  let states: Latest<State>
  let shown: Latest<ShownState<State>>
  private let first: State
  let statuses = Latest(ScreenStatus())
  let failures = DispatchSubject<ScreenActionFailure<Action>>()
  let delivered = DeliveredPulses<State>()

  init(initially state: State) {
    (states, first) = (Latest(state), state)
    shown = Latest(ShownState(opening: 0, state: state))
  }

  func show(_ state: State, of opening: Int) {
    states.publish(state)
    shown.publish(ShownState(opening: opening, state: state))
  }

  /// Shows the state that the view had before the screen was opened.
  func hide() { show(first, of: 0) }

  func fail(_ actions: [Action], _ failure: ClientFailure) {
    for action in actions { failures.dispatch(ScreenActionFailure(action: action, failure: failure)) }
  }

  func finish() {
    states.finish()
    shown.finish()
    statuses.finish()
    failures.finish()
  }
}
