import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// A look at the present on behalf of somebody who waits.
struct StateCheck: Sendable {
  /// Whether the request came just now.
  let isFirst: Bool
  /// Whether the time is over: there must be an answer.
  let isLast: Bool
}

/// What there is to tell somebody who waits.
enum LongPollResult: Sendable {
  case answer(HandlerResult)
  /// Nothing yet.
  case goOn
  /// It takes long to find out; nil: nothing yet.
  case later(@Sendable () async throws -> HandlerResult?)
}

/// A request that waits until something of a user's state differs from what the client has.
final class LongPoll: ParkedRequest {
  let deadline: Int64
  private let watch: StateWatcher
  private let respond: @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult

  /// - Parameters:
  ///   - deadline: When to give up.
  ///   - watch: What is watched, and what was seen of it when there was nothing to tell.
  ///   - respond: The answer by the present state, or to go on waiting, which it can't on its last look.
  init(
    deadline: Int64,
    watch: StateWatcher,
    respond: @escaping @Sendable (CachedState, RegisteredDefaults, StateCheck) throws -> LongPollResult
  ) {
    self.deadline = deadline
    self.watch = watch
    self.respond = respond
  }

  func hold(_ waker: any Waker) { watch.hold(waker) }

  func release() {}

  func answer(_ cause: WakeReason) -> HandlerResult {
    let isLast = if case .woken = cause { false } else { true }
    let look = StateCheck(isFirst: false, isLast: isLast)
    do {
      return try watch.look { hot, registered in
        switch try self.respond(hot, registered, look) {
        case .answer(let answer): answer
        case .goOn: .parked(self)
        case .later(let work): .async { try await work() ?? .parked(self) }
        }
      }
    } catch {
      // Passed on, so that what is done to any error is done to this one.
      return .async { throw error }
    }
  }
}

/// A request that waits for what can't change any more, as the past: until its time or its session is over.
final class TimeoutWait: ParkedRequest {
  let deadline: Int64
  private let session: LiveSession
  private let seat: WaiterRegistry<UserID>.Seat
  private let response: Response

  /// - Parameters:
  ///   - deadline: When to give up.
  ///   - session: Whose it is.
  ///   - seat: Its place among all who wait.
  ///   - response: What it's told then.
  init(deadline: Int64, session: LiveSession, seat: WaiterRegistry<UserID>.Seat, response: Response) {
    self.deadline = deadline
    self.session = session
    self.seat = seat
    self.response = response
  }

  func hold(_ waker: any Waker) {
    seat.wait(waker)
    if session.isEnded { waker.wake() }
  }

  func release() {}

  func answer(_ cause: WakeReason) -> HandlerResult {
    // Passed on, so that what is done to any error is done to this one.
    if session.isEnded { return .async { throw Problem.unauthorized(true) } }
    if case .woken = cause { return .parked(self) }
    return .response(response)
  }
}
