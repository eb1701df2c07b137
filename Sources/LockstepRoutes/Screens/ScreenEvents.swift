import LockstepHTTP
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import Synchronization

/// A screen's states as server-sent events. The first event has the current state, unless the
/// client has that already. A slow client may miss states, but never the latest.
final class ScreenEvents: EventSource {
  private struct State {
    /// The cursor of the state that the client has.
    var sent: String?
    var heartbeat: Int64
  }

  private let watcher: ScreenWatcher
  private let monotonic: @Sendable () -> Int64
  private let state: LockedState<State>

  init(_ watcher: ScreenWatcher, sent: String?, monotonic: @escaping @Sendable () -> Int64) {
    self.watcher = watcher
    self.monotonic = monotonic
    state = LockedState(State(sent: sent, heartbeat: monotonic() + EventPiece.heartbeat))
  }

  var deadline: Int64 { state.withLock { $0.heartbeat } }

  func park(_ waker: any Waker) { watcher.park(waker) }

  func unpark() {}

  func next(_ cause: WakeReason) -> EventPiece {
    let now = monotonic()
    guard watcher.holdsLease else { return state.withLock { .comment(at: now, &$0.heartbeat) } }
    if watcher.screen.isEnded { return .end }
    let shown = watcher.look()
    let cursor = watcher.screen.cursor(shown.number)
    return state.withLock { state in
      if state.sent != cursor {
        state.sent = cursor
        state.heartbeat = now + EventPiece.heartbeat
        return .event("state", id: cursor, watcher.screen.document(shown))
      }
      return .comment(at: now, &state.heartbeat)
    }
  }
}

/// Remembers the state of a screen that a request saw last, and knows whether there is a newer one.
/// While a watcher exists, the screen does not expire.
final class ScreenWatcher: Watcher {
  let screen: Screen
  let seat: WaiterSeat
  let lease: NodeLease?
  private let monotonic: @Sendable () -> Int64
  private let seen = Atomic<UInt64>(0)

  init(_ screen: Screen, seat: WaiterSeat, lease: NodeLease?, monotonic: @escaping @Sendable () -> Int64) {
    (self.screen, self.seat, self.lease) = (screen, seat, lease)
    self.monotonic = monotonic
    screen.beginWatching()
  }

  deinit { screen.endWatching(at: monotonic()) }

  var hasChanged: Bool { screen.isEnded || screen.engine.number != seen.load(ordering: .relaxed) }

  func look() -> EncodedState {
    let shown = screen.engine.shown
    seen.store(shown.number, ordering: .relaxed)
    return shown
  }

  /// The problem for requests that wait for the screen, once it has ended.
  var problem: Problem? {
    guard screen.isEnded else { return nil }
    return screen.session?.isEnded == true ? Problem.unauthorized(true) : .noSuchScreen
  }
}
