import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepStore
import LockstepThreading

/// Why something about an account wasn't done. Nothing was changed then.
public enum AccountsError: Error, Sendable, Equatable {
  /// What was sent breaks these rules: all of them, not only the first.
  case invalid([FieldFault])
  /// Somebody has signed up with this address already.
  case addressTaken
  /// Nobody may sign up here.
  case registrationClosed
  /// The address or the password is wrong; which of the two isn't told.
  case wrongCredentials
  /// The password that was asked for again is wrong.
  case wrongPassword
  /// The account has been disabled. Only told to who knows its password.
  case disabled
  /// The session that asks has ended meanwhile, or its user is gone.
  case sessionEnded
  /// The user has no such session.
  case noSuchSession
  /// The account or the session is not as a precondition of the request requires. Has its present document and tag.
  case changed(current: JSON, tag: String)
  /// Too many wrong passwords, or sign-ups: how many seconds to wait, at least 1.
  case tooManyAttempts(retryAfter: Int)
  /// Too much work waits. Try again in a moment.
  case overloaded
  /// The store failed, or has been closed.
  case store(StoreError)
  /// There wasn't enough memory to hash a password.
  case outOfMemory
}

extension AccountsError {
  /// What was thrown by work on another thread: an error of its own, SQLite's, or that there is no room in the queue.
  package init(thrown error: any Error) {
    self =
      switch error {
      case let error as AccountsError: error
      case let error as SQLiteError: .store(.database(error))
      case is WorkerPool.Overloaded: .overloaded
      case is WorkerPool.ShutDown: .store(.closed)
      // Nothing else is thrown there.
      default: .store(.database(SQLiteError(extendedCode: 1, message: "\(error)", path: "")))
      }
  }
}

extension AccountsError: CustomStringConvertible {
  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .invalid(let faults): faults.map { "\($0.pointer): \($0.detail)" }.joined(separator: " ")
    case .addressTaken: "There is an account with this e-mail address already: log in instead."
    case .registrationClosed: "This server accepts no new accounts. Ask whoever runs it for one."
    case .wrongCredentials: "The e-mail address or the password is wrong."
    case .wrongPassword: "The password is wrong."
    case .disabled: "The account has been disabled. Ask whoever runs this server."
    case .sessionEnded: "The session has ended: log in again."
    case .noSuchSession: "There is no such session."
    case .changed: "What this is about has another ETag than the request requires."
    case .tooManyAttempts(let seconds): "Too many attempts. Try again in \(seconds) seconds."
    case .overloaded: "Too much work waits for the server. Try again in a moment."
    case .store(let error): error.description
    case .outOfMemory: "There isn't enough memory to hash a password. Give the server more, or fewer hashes at a time."
    }
  }
}
