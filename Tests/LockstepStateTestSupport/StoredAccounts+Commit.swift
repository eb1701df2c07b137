import LockstepJSON

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

/// Changes together with their commits, as the routes make them.
extension StoredAccounts {
  @discardableResult
  func signUp(_ credentials: Credentials) async throws(AccountsError) -> SignedIn {
    try await commit(prepareSignUp(credentials))
  }

  func revoke(_ session: SessionID, of user: UserID) async throws(AccountsError) {
    try await commit(revoking(session, of: user))
  }

  func changePassword(
    from current: Password,
    to new: Password,
    in session: LiveSession
  ) async throws(AccountsError) {
    try await commit(prepareChangePassword(from: current, to: new, in: session, from: .test) { _ in })
  }

  func erase(confirmedBy password: Password, in session: LiveSession) async throws(AccountsError) {
    try await commit(prepareErase(confirmedBy: password, in: session, from: .test) { _ in })
  }

  /// Disables or enables a user as an admin command does. Returns whether the user exists.
  func setDisabled(_ isDisabled: Bool, _ user: UserID) async throws(AccountsError) -> Bool {
    let now = now
    return try await commit(
      PreparedAccountsWrite { connection in
        let (outcome, ended) = try AdminCommand(isDisabled ? .disable : .enable, user).run(in: connection, at: now)
        return (outcome == .done, ended)
      }
    )
  }

  func export(_ user: UserID) async throws(AccountsError) -> JSONObject? {
    try await read { try self.export(user, from: $0) }
  }
}
