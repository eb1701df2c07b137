import LockstepHTTP
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepThreading

extension Problem {
  /// What a client is told of an error that isn't a refusal; nil for one that is a fault of ours.
  package static func telling(of error: any Error) -> Problem? {
    switch error {
    case is IdempotencyKeyReusedError:
      Problem(
        .validationFailed,
        detail: "This Idempotency-Key was used for another request. Take a new one for each new request."
      )
    case is IdempotencyKeyInUseError: .keyInUse
    case is SessionEndedError: .unauthorized(true)
    // The user was erased meanwhile: nothing may refer to them any more.
    case let error as SQLiteError where error.kind == .constraint: .unauthorized(true)
    case is WorkerPool.Overloaded: .overloaded()
    case let error as SQLiteError where error.kind == .full:
      .overloaded("The disk is full: nothing can be written until there is room again.")
    // The disk fails, or somebody has locked the file: whoever runs the server is told by the log, once.
    case let error as SQLiteError where error.isOfTheStore || error.kind == .busy || error.kind == .rolledBack:
      .overloaded("The store can't be used at the moment. The server's log has the reason.")
    // Who waited for their turn to read has gone, or the server stops.
    case is CancellationError, is WorkerPool.ShutDown: .overloaded("The server is stopping.")
    default: nil
    }
  }

  package static func unauthorized(_ hasToken: Bool) -> Problem {
    var fields = HeaderFields()
    fields.append(.wwwAuthenticate, hasToken ? "Bearer error=\"invalid_token\"" : "Bearer")
    let detail =
      hasToken
      ? "The token isn't valid, or isn't any more. POST /v1/sessions gives a new one."
      : "This needs a token: send Authorization: Bearer <token>. POST /v1/sessions gives one."
    return Problem(.unauthorized, detail: detail, fields: fields)
  }
}

extension Problem {
  /// The first request with an idempotency key isn't answered yet.
  static var keyInUse: Problem {
    var problem = Problem(
      .conflict,
      detail: "A request with this Idempotency-Key is still at work. Try again in a moment."
    )
    problem.fields.append(.retryAfter, "1")
    return problem
  }

  /// There is no room for now.
  package static func overloaded(_ detail: String? = nil) -> Problem {
    var problem = Problem(.overloaded, detail: detail)
    problem.fields.append(.retryAfter, "1")
    return problem
  }
}
