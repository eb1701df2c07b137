import LockstepHTTP
import LockstepMiddleware
import LockstepScreens
import LockstepSync
import Synchronization

/// An eye on a screen for somebody who waits. As long as there is one the screen doesn't end by itself.
final class ScreenWatcher: Sendable {
  let screen: Screen
  private let seat: WaiterRegistry<String>.Seat
  private let monotonic: @Sendable () -> Int64
  private let seen = Atomic<UInt64>(0)

  init(_ screen: Screen, seat: WaiterRegistry<String>.Seat, monotonic: @escaping @Sendable () -> Int64) {
    self.screen = screen
    self.seat = seat
    self.monotonic = monotonic
    screen.beginWatching()
  }

  deinit { screen.endWatching(at: monotonic()) }

  /// From now on new states wake `waker`; at once if there was one since the last look.
  func hold(_ waker: any Waker) {
    seat.wait(waker)
    // In this order: whoever shows something puts it there first and wakes then.
    if screen.isEnded || screen.engine.number != seen.load(ordering: .relaxed) { waker.wake() }
  }

  /// The state of now.
  func look() -> EncodedState {
    let shown = screen.engine.shown
    seen.store(shown.number, ordering: .relaxed)
    return shown
  }

  /// What those are told who wait for a screen that has ended.
  var problem: Problem? {
    guard screen.isEnded else { return nil }
    return screen.session?.isEnded == true ? Problem.unauthorized(true) : .noSuchScreen
  }
}

/// A request that waits until a screen shows something else than what the client has.
final class ScreenLongPoll: ParkedRequest {
  let deadline: Int64
  private let watch: ScreenWatcher
  private let preconditions: Preconditions
  private let wait: WaitPreference

  init(_ watch: ScreenWatcher, _ preconditions: Preconditions, _ wait: WaitPreference, deadline: Int64) {
    self.watch = watch
    self.preconditions = preconditions
    self.wait = wait
    self.deadline = deadline
  }

  func hold(_ waker: any Waker) { watch.hold(waker) }

  func release() {}

  func answer(_ cause: WakeReason) -> HandlerResult {
    // Passed on, so that what is done to any error is done to this one.
    if let problem = watch.problem { return .async { throw problem } }
    let cursor = watch.screen.cursor(watch.look().number)
    if case .woken = cause, preconditions.isFresh(cursor) { return .parked(self) }
    return .response(watch.screen.response(preconditions).waited(wait))
  }
}
