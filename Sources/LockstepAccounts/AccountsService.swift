import LockstepCollections
import LockstepJSON

/// What somebody says who wants to sign up or to log in.
public struct Credentials: Sendable {
  /// The address, as it was sent.
  public let email: String
  /// The password.
  public let password: Password
  /// What the device is to be called, as it was sent.
  public let device: String?
  /// Where it comes from.
  public let network: ClientNetwork

  /// Credentials of their parts.
  public init(email: String, password: Password, device: String?, network: ClientNetwork) {
    self.email = email
    self.password = password
    self.device = device
    self.network = network
  }
}

/// A user whose device has just been logged in.
public struct SignedIn: Sendable {
  /// Who it is.
  public let user: User
  /// The new session.
  public let session: Session
  /// Its token, which is told this once.
  public let token: Token
}

/// Accounts: who may come in, from which devices, and how they leave.
///
/// What a call has changed is on disk when it returns; when it throws, nothing has changed. A session that a call ends is
/// refused from then on, and those who listen to the `SessionDirectory` have been told.
public protocol AccountsService: Sendable {
  /// What is wrong with what somebody wants to sign up with, as far as that can be told without looking anything up.
  func signUpFaults(in credentials: Credentials) -> [FieldFault]

  /// What is wrong with what somebody wants to log in with, whoever they are.
  func logInFaults(in credentials: Credentials) -> [FieldFault]

  /// What is wrong with a new password, whosever.
  func faults(inNew password: Password) -> [FieldFault]

  /// Makes an account and logs its first device in.
  ///
  /// - Throws: `invalid` with every fault, `addressTaken`, `registrationClosed`, `tooManyAttempts`.
  func signUp(_ credentials: Credentials) async throws(AccountsError) -> SignedIn

  /// Logs a device in. Takes equally long for an address that nobody has and for a wrong password.
  ///
  /// - Throws: `wrongCredentials`, `disabled`, `tooManyAttempts`, and `invalid` for the device's name.
  func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn

  /// The user; nil when they have been erased.
  func user(_ id: UserID) async throws(AccountsError) -> User?

  /// The user's sessions, oldest first.
  func sessions(of user: UserID) async throws(AccountsError) -> [Session]

  /// Ends a session. Throws `noSuchSession` when the user has no such.
  func revoke(_ session: SessionID, of user: UserID) async throws(AccountsError)

  /// Changes the password and ends every other session.
  ///
  /// - Throws: `invalid`, `wrongPassword`, `tooManyAttempts`, `sessionEnded`.
  func changePassword(from current: Password, to new: Password, in session: LiveSession) async throws(AccountsError)

  /// What is stored about the user's account: `user` and `sessions`, without secrets; nil when they have been erased.
  func export(_ user: UserID) async throws(AccountsError) -> JSONObject?

  /// Deletes the user and everything about them.
  ///
  /// - Throws: `wrongPassword`, `tooManyAttempts`, `sessionEnded`.
  func erase(confirmedBy password: Password, in session: LiveSession) async throws(AccountsError)

  /// Disables an account, which ends its sessions, or enables it again. Whether there is such a user.
  func setDisabled(_ isDisabled: Bool, _ user: UserID) async throws(AccountsError) -> Bool
}
