import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// Knows whether the resource of a parked request has changed since the request last looked at it.
protocol Watcher<Key>: Sendable {
  associatedtype Key: Hashable & Sendable
  var seat: WaiterRegistry<Key>.Seat { get }
  var hasChanged: Bool { get }
}

extension Watcher {
  /// Changes wake `waker` from now on. A change since the last look wakes it at once.
  func park(_ waker: any Waker) {
    seat.wait(waker)
    // Checked after the seat has the waker, because a commit publishes the state before it wakes
    // the seats. So no change is missed.
    if hasChanged { waker.wake() }
  }
}

/// A request that waits until a resource differs from what the client has.
final class LongPoll: ParkedRequest {
  let deadline: Int64
  private let watcher: any Watcher
  private let respond: @Sendable (LongPoll, _ isLast: Bool) throws -> HandlerResult

  /// `respond` returns a response, or `.parked` with the poll to wait on. If `isLast` is true, it
  /// must return a response.
  init(
    deadline: Int64,
    _ watcher: any Watcher,
    respond: @escaping @Sendable (LongPoll, _ isLast: Bool) throws -> HandlerResult
  ) {
    self.deadline = deadline
    self.watcher = watcher
    self.respond = respond
  }

  func park(_ waker: any Waker) { watcher.park(waker) }

  func unpark() {}

  func resume(_ cause: WakeReason) -> HandlerResult {
    let isLast = if case .woken = cause { false } else { true }
    do {
      return try respond(self, isLast)
    } catch {
      // Thrown by the handler, so that middleware treats it like any other error.
      return .async { throw error }
    }
  }
}

/// One look at the state on behalf of a request that may wait.
struct StateCheck: Sendable {
  /// Whether the request has just arrived.
  let isFirst: Bool
  /// Whether the time is over: there must be a response.
  let isLast: Bool
}

/// The result of a look at the state.
enum LongPollResult: Sendable {
  case answer(HandlerResult)
  /// Nothing has changed.
  case unchanged
  /// The response takes long to make. `nil`: nothing has changed.
  case later(@Sendable () async throws -> HandlerResult?)
}

/// A request that waits for a resource that cannot change, such as a past state. It waits until its
/// time or its session is over.
final class TimeoutWait: ParkedRequest, Watcher {
  let deadline: Int64
  let seat: WaiterRegistry<UserID>.Seat
  private let session: LiveSession
  private let response: Response

  init(deadline: Int64, session: LiveSession, seat: WaiterRegistry<UserID>.Seat, response: Response) {
    self.deadline = deadline
    self.session = session
    self.seat = seat
    self.response = response
  }

  var hasChanged: Bool { session.isEnded }

  func unpark() {}

  func resume(_ cause: WakeReason) -> HandlerResult {
    // Thrown by the handler, so that middleware treats it like any other error.
    if session.isEnded { return .async { throw Problem.unauthorized(true) } }
    if case .woken = cause { return .parked(self) }
    return .response(response)
  }
}
