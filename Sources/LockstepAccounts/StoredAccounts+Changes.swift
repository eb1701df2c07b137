import LockstepCollections
import LockstepStore

extension StoredAccounts {
  /// A write that ends a session. It throws `noSuchSession` if the user has no such session.
  package func revoking(_ session: SessionID, of user: UserID) -> PreparedAccountsWrite<Void> {
    let now = now
    return PreparedAccountsWrite { connection in
      try connection.lock(user)
      guard let ended = try SessionRecords(connection: connection).end(session, of: user, at: now) else {
        throw AccountsError.noSuchSession
      }
      return ((), [ended])
    }
  }

  /// The faults of a new password that do not depend on the user.
  package func faults(inNew password: Password) -> [FieldFault] { faults(inNew: password, of: nil) }

  private func faults(inNew password: Password, of address: EmailAddress?) -> [FieldFault] {
    configuration.passwordRules.faults(in: password, of: address).map { FieldFault(pointer: "/new", detail: $0) }
  }

  /// Prepares to change the password and to end every other session. `check` runs before the passwords
  /// are hashed, and again in the transaction. Throws `invalid`, `wrongPassword`, `noPassword`,
  /// `tooManyAttempts`, `sessionEnded`.
  package func prepareChangePassword(
    from current: Password,
    to new: Password,
    in session: LiveSession,
    from network: ClientNetwork,
    if check: @escaping @Sendable (StoreConnection) throws -> Void
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let check = try await confirmed(current, in: session, from: network, if: check) {
      (account) throws(AccountsError) in
      let faults = self.faults(inNew: new, of: account.user.email.flatMap { try? EmailAddress($0) })
      if !faults.isEmpty { throw .invalid(faults) }
    }
    let hash = try await hasher.hash(new, for: .change(network))
    let now = now
    return PreparedAccountsWrite { connection in
      try UserRecords(connection: connection).changePassword(of: session.user, to: hash, at: now)
      return ((), try SessionRecords(connection: connection).endAll(of: session.user, except: session.id, at: now))
    }
    .checked(by: check)
  }

  /// Prepares to delete the user. A user without a password confirms it by the session's token
  /// alone. `check` runs before the password is hashed, and again in the transaction. Throws
  /// `invalid`, `wrongPassword`, `tooManyAttempts`, `sessionEnded`.
  package func prepareErase(
    confirmedBy password: Password?,
    in session: LiveSession,
    from network: ClientNetwork,
    if check: @escaping @Sendable (StoreConnection) throws -> Void
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let now = now
    let write = PreparedAccountsWrite { connection in
      let ended = try SessionRecords(connection: connection).endAll(of: session.user, at: now)
      try UserRecords(connection: connection).erase(session.user, at: now)
      return ((), ended)
    }
    let account = try await read { try UserRecords(connection: $0).account(session.user) }
    guard account?.passwordHash != nil else {
      return write.checked { connection in
        try check(connection)
        let account = try Self.account(of: session, from: connection)
        // The user may have set a password meanwhile.
        if account.passwordHash != nil { throw AccountsError.wrongPassword }
      }
    }
    guard let password else { throw .invalid([FieldFault(pointer: "/password", detail: "The password is missing.")]) }
    return try await write.checked(by: confirmed(password, in: session, from: network, if: check))
  }

  /// The account of a session, locked until the end of the transaction. Throws `sessionEnded`.
  static func account(of session: LiveSession, from connection: StoreConnection) throws -> Account {
    guard try connection.lock(session.user),
      try SessionRecords(connection: connection).has(session.id, of: session.user),
      let account = try UserRecords(connection: connection).account(session.user)
    else { throw AccountsError.sessionEnded }
    return account
  }

  /// Verifies the password that confirms a change, after `check` and `condition`, which are quick.
  /// Returns a check for the transaction, with `check` in it. It throws if the session or the
  /// password is no longer valid.
  func confirmed(
    _ password: Password,
    in session: LiveSession,
    from network: ClientNetwork,
    if check: @escaping @Sendable (StoreConnection) throws -> Void,
    and condition: (Account) throws(AccountsError) -> Void = { _ in }
  ) async throws(AccountsError) -> @Sendable (StoreConnection) throws -> Void {
    // Before the attempt is counted: a false precondition is not one, even for a moment.
    let found = try await read { connection in
      try check(connection)
      return try UserRecords(connection: connection).account(session.user)
    }
    guard let found else { throw .sessionEnded }
    try condition(found)
    guard let hash = found.passwordHash else { throw .noPassword(hasIdentity: found.hasIdentity) }
    let attempt = try await passwords.confirm(in: session.id)
    do throws(AccountsError) {
      guard try await hasher.verify(password, against: hash, for: .change(network)) else { throw .wrongPassword }
      await passwords.succeeded(attempt)
      return { connection in
        try check(connection)
        let account = try Self.account(of: session, from: connection)
        guard account.passwordVersion == found.passwordVersion else { throw AccountsError.wrongPassword }
      }
    } catch {
      if error == .wrongPassword { passwords.failed(attempt) } else { await passwords.abandoned(attempt) }
      throw error
    }
  }
}
