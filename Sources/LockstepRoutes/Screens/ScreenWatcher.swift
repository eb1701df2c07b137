import LockstepHTTP
import LockstepScreens
import LockstepSync
import Synchronization

/// Watches a screen: remembers the state that was seen last, and knows whether there is a newer
/// one. While a watcher exists, the screen does not expire.
final class ScreenWatcher: Watcher {
  let screen: Screen
  let seat: WaiterRegistry<String>.Seat
  private let monotonic: @Sendable () -> Int64
  private let seen = Atomic<UInt64>(0)

  init(_ screen: Screen, seat: WaiterRegistry<String>.Seat, monotonic: @escaping @Sendable () -> Int64) {
    self.screen = screen
    self.seat = seat
    self.monotonic = monotonic
    screen.beginWatching()
  }

  deinit { screen.endWatching(at: monotonic()) }

  var hasChanged: Bool { screen.isEnded || screen.engine.number != seen.load(ordering: .relaxed) }

  /// The current state.
  func look() -> EncodedState {
    let shown = screen.engine.shown
    seen.store(shown.number, ordering: .relaxed)
    return shown
  }

  /// The response to requests that wait for a screen that has ended.
  var problem: Problem? {
    guard screen.isEnded else { return nil }
    return screen.session?.isEnded == true ? Problem.unauthorized(true) : .noSuchScreen
  }
}
