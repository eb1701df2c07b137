import LockstepAccounts

/// Logs users in. Tests replace it.
public protocol LogInService: Sendable {
  /// Checks the credentials, and begins a session.
  func logIn(_ credentials: Credentials) async throws(LogInError) -> SignedIn
}

/// Why a login failed.
public enum LogInError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The e-mail address or the password is wrong. The client must not learn which of them.
  case wrongCredentials
  /// The account is disabled. Only a client with the right password learns this.
  case disabled
  /// Too many wrong passwords. Wait this many seconds, at least 1.
  case tooManyAttempts(retryAfter: Int)
  /// Logging in is not possible, for a reason that the operator need not see.
  case refused(reason: String)
  /// The server has too much work.
  case overloaded
  /// The server cannot check passwords at the moment. The reason is for the operator.
  case unavailable(reason: String)

  /// For logs.
  public var description: String {
    switch self {
    case .wrongCredentials: "The e-mail address or the password is wrong."
    case .disabled: "The account is disabled."
    case .tooManyAttempts(let seconds): "Too many attempts. Try again in \(seconds) seconds."
    case .overloaded: "The server has too much work. Try again in a moment."
    case .refused(let reason), .unavailable(let reason): reason
    }
  }

  /// Whether the operator should see the error. All others are mistakes of users.
  var isFailure: Bool {
    switch self {
    case .overloaded, .unavailable: true
    case .wrongCredentials, .disabled, .tooManyAttempts, .refused: false
    }
  }
}
