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
    HandlerResult { try respond(self, cause != .woken) }
  }
}

extension HandlerResult {
  /// The result of `make`. Middleware treats an error like any other that a handler throws.
  init(catching make: () throws -> HandlerResult) {
    do { self = try make() } catch { self = .async { throw error } }
  }

  /// A response that takes time. An error for which there is a problem becomes the problem.
  static func making(
    _ problem: @escaping @Sendable (any Error) -> Problem?,
    _ make: @escaping @Sendable () async throws -> Response
  ) -> HandlerResult {
    .async {
      do { return .response(try await make()) } catch { throw problem(error) ?? error }
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

enum LongPollResult: Sendable {
  case answer(HandlerResult)
  case unchanged
  /// The response takes long to make. `nil`: nothing has changed.
  case later(@Sendable () async throws -> HandlerResult?)
}
