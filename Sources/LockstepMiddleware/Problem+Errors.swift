import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepPostgreSQL
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepThreading

extension Problem {
  /// The problem for an error that is not a refusal, or `nil` for an internal error.
  package static func describing(_ error: any Error) -> Problem? {
    switch error {
    case is IdempotencyKeyReusedError:
      Problem(
        .validationFailed,
        detail: "This Idempotency-Key was used for another request. Use a new key for each new request."
      )
    case is IdempotencyKeyInUseError: .keyInUse
    case is TooMuchWorkError:
      Problem(
        .validationFailed,
        errors: [
          Fault(
            pointer: "",
            detail: """
              Checking and performing the actions of this request takes too many steps. Nothing was changed. Send \
              fewer actions in one request, make their values smaller or less deep, or ask for a simpler schema.
              """
          )
        ]
      )
    case is DeclarationChangedError:
      .overloaded("The declaration of a collection has changed meanwhile. Send the request again.")
    case is SessionEndedError: .unauthorized(true)
    case is ServiceTokenEndedError: .serviceTokenEnded
    // The user was erased meanwhile, so no row can refer to that user.
    case let error as SQLiteError where error.kind == .constraint: .unauthorized(true)
    case is PoolOverloadedError: .overloaded()
    case let error as SQLiteError where error.kind == .full:
      .overloaded("The disk is full: writes fail until there is room again.")
    // The disk fails, or another process has locked the database. The server logs this once.
    case let error as SQLiteError where error.isStoreFailure || error.kind == .busy || error.kind == .rolledBack:
      .overloaded("The store cannot be used at present. The server's log has the reason.")
    case is StaleStateError:
      .overloaded(
        """
        The state in memory is not in the history of the database, after a failover or while a collection is \
        declared or deleted. Read the state again, and send the request again.
        """
      )
    case is UserLockedError:
      .overloaded("Another server or program has locked this user's state. Send the request again.")
    case let error as PostgreSQLError where error.kind == .diskFull:
      .overloaded("The disk of the database is full: writes fail until there is room again.")
    case let error as PostgreSQLError where error.isStoreFailure:
      .overloaded("The store cannot be used at present. The server's log has the reason.")
    case is StoreError: .overloaded("The store cannot be used at present. The server's log has the reason.")
    // The client that waited for a reader has disconnected, or the server is shutting down.
    case is CancellationError, is PoolShutDownError: .overloaded(Problem.shuttingDown)
    default: nil
    }
  }

  package static func unauthorized(_ hasToken: Bool) -> Problem {
    let detail =
      hasToken
      ? "The token is invalid or has expired. POST /v1/sessions gives a new one."
      : "This request needs a token: send Authorization: Bearer <token>. POST /v1/sessions gives one."
    let challenge = hasToken ? "Bearer error=\"invalid_token\"" : "Bearer"
    return Problem(.unauthorized, detail: detail, fields: HeaderFields([.wwwAuthenticate: challenge]))
  }

  /// The problem of a request whose service token has ended since the request arrived.
  package static var serviceTokenEnded: Problem {
    var problem = Problem.unauthorized(true)
    problem.detail =
      "The service token was deleted or has expired. Use another token, or create one with POST /v1/admin/tokens."
    return problem
  }

  package static var keyInUse: Problem {
    let detail = "A request with this Idempotency-Key is still running. Try again in a moment."
    return Problem(.conflict, detail: detail, fields: HeaderFields([.retryAfter: "1"]))
  }

  package static func overloaded(_ detail: String? = nil) -> Problem {
    Problem(.overloaded, detail: detail, fields: HeaderFields([.retryAfter: "1"]))
  }
}
