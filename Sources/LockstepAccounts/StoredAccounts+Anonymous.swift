import LockstepCollections
import LockstepStore

// Users without credentials, who log in only with the token of their first session, and the
// credentials that such a user gets later.

extension StoredAccounts {
  /// The faults that can be found without reading the store.
  package func faults(in client: ClientDevice) -> [FieldFault] {
    var check = FieldCheck()
    _ = Self.device(client.device, &check)
    return check.faults
  }

  /// Prepares a new anonymous user with a session. Throws `invalid`, `registrationClosed`,
  /// `tooManyAttempts`.
  package func prepareSignUp(_ client: ClientDevice) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    guard configuration.registration == .open else { throw .registrationClosed }
    var check = FieldCheck()
    let device = Self.device(client.device, &check)
    try check.finish()
    await passwords.succeeded(try await passwords.signUp(account: "", from: client.network))
    let account = Account(withoutPassword: UserID(ids.next()), hasIdentity: false, at: now)
    let new = newSession(of: account.user, device: device)
    return PreparedAccountsWrite { connection in
      _ = try UserRecords(connection: connection).insert(account)
      try SessionRecords(connection: connection).insert(new.stored)
      return (new.signedIn, [])
    }
  }

  /// Prepares to give an anonymous user an address and a password. All sessions stay valid. `check` runs
  /// before the password is hashed, and again in the transaction. It counts as a sign-up. Throws
  /// `invalid`, `addressTaken`, `hasCredentials`, `tooManyAttempts`, `sessionEnded`.
  package func prepareCredentials(
    email: String,
    _ password: Password,
    in session: LiveSession,
    from network: ClientNetwork,
    if check: @escaping @Sendable (StoreConnection) throws -> Void
  ) async throws(AccountsError) -> PreparedAccountsWrite<User> {
    let (given, faults) = self.check(adding: email, password)
    guard let address = given, faults.isEmpty else { throw .invalid(faults) }
    // Avoids a hash if the change will be refused. The transaction checks both again.
    let (account, other) = try await read { connection in
      try check(connection)
      let users = UserRecords(connection: connection)
      return (try users.account(session.user), try users.account(withKey: address.key))
    }
    guard let account else { throw .sessionEnded }
    if account.hasCredentials { throw .hasCredentials }
    if other != nil { throw .addressTaken }
    let hash = try await newHash(of: password, account: address.key, from: network)
    let now = now
    return PreparedAccountsWrite { connection in
      try check(connection)
      let account = try Self.account(of: session, from: connection)
      if account.hasCredentials { throw AccountsError.hasCredentials }
      let users = UserRecords(connection: connection)
      guard try users.setCredentials(of: session.user, address, hash, at: now) else {
        throw AccountsError.addressTaken
      }
      guard let changed = try users.account(session.user) else { throw AccountsError.sessionEnded }
      return (changed.user, [])
    }
  }
}
