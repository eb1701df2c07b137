import LockstepHTTP
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import Synchronization

/// A screen's states as server-sent events. The first event has the current state, unless the
/// client has that already. A slow client may miss states, but never the latest.
struct ScreenEvents: EventFeed {
  let watcher: ScreenWatcher
  /// The cursor of the state that the client has.
  var sent: String?

  mutating func events(of shown: EncodedState) -> [UInt8]? {
    let cursor = watcher.screen.cursor(shown.number)
    if sent == cursor { return nil }
    sent = cursor
    return EventFormat.event("state", id: cursor, watcher.screen.document(shown))
  }

  mutating func next(isNotified: Bool) -> EventFeedStep<EncodedState>? { .part(watcher.look()) }

  func progress() -> String? { nil }
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

  var isEnded: Bool { screen.isEnded }
  var hasChanged: Bool { isEnded || screen.engine.number != seen.load(ordering: .relaxed) }

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
