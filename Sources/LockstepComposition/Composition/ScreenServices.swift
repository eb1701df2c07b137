import LockstepAccounts
import LockstepBuiltInScreens
import LockstepScreens

/// The services of screens. Tests replace them here.
struct ScreenServices: Sendable {
  /// The users of all screens.
  var users: any ScreenUsers
  /// The services of the built-in screens.
  var builtIn: ScreenComponents
}

/// Logs users in on the screen `login`.
struct AccountsLogIn: LogInService {
  let accounts: StoredAccounts

  func logIn(_ credentials: Credentials) async throws(LogInError) -> SignedIn {
    do throws(AccountsError) {
      return try await accounts.logIn(credentials)
    } catch {
      throw LogInError(error)
    }
  }
}

extension LogInError {
  init(_ error: AccountsError) {
    self =
      switch error {
      case .wrongCredentials: .wrongCredentials
      case .disabled: .disabled
      case .tooManyAttempts(let seconds): .tooManyAttempts(retryAfter: seconds)
      case .overloaded: .overloaded
      case .store, .outOfMemory: .unavailable(reason: error.description)
      default: .refused(reason: error.description)
      }
  }
}
