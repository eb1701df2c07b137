import LockstepCollections
import LockstepStore

extension StoredAccounts {
  /// A write that ends a session. It throws `noSuchSession` if the user has no such session.
  package func revoking(_ session: SessionID, of user: UserID) -> PreparedAccountsWrite<Void> {
    PreparedAccountsWrite { connection in
      try connection.lock(user)
      guard let ended = try SessionRecords(connection: connection).end(session, of: user) else {
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

  /// Prepares to change the password and to end every other session. Throws `invalid`,
  /// `wrongPassword`, `tooManyAttempts`, `sessionEnded`.
  package func prepareChangePassword(
    from current: Password,
    to new: Password,
    in session: LiveSession
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let check = try await confirmed(current, in: session) { (account) throws(AccountsError) in
      let faults = self.faults(inNew: new, of: try? EmailAddress(account.user.email))
      if !faults.isEmpty { throw .invalid(faults) }
    }
    let hash = try await hasher.hash(new)
    let now = now
    return PreparedAccountsWrite { connection in
      try UserRecords(connection: connection).changePassword(of: session.user, to: hash, at: now)
      return ((), try SessionRecords(connection: connection).endAll(of: session.user, except: session.id))
    }
    .checked(by: check)
  }

  /// Prepares to delete the user. Throws `wrongPassword`, `tooManyAttempts`, `sessionEnded`.
  package func prepareErase(
    confirmedBy password: Password,
    in session: LiveSession
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let check = try await confirmed(password, in: session)
    return PreparedAccountsWrite { connection in
      let ended = try SessionRecords(connection: connection).endAll(of: session.user)
      try UserRecords(connection: connection).erase(session.user)
      return ((), ended)
    }
    .checked(by: check)
  }

  /// Verifies the password that confirms a change, after `condition`, which is quick. Returns a
  /// check for the transaction. The check throws if the session or the password is no longer valid.
  private func confirmed(
    _ password: Password,
    in session: LiveSession,
    if condition: (Account) throws(AccountsError) -> Void = { _ in }
  ) async throws(AccountsError) -> @Sendable (StoreConnection) throws -> Void {
    let attempt = try await passwords.confirm(in: session.id)
    do throws(AccountsError) {
      let found = try await read { try UserRecords(connection: $0).account(session.user) }
      guard let found else { throw .sessionEnded }
      try condition(found)
      guard try await hasher.verify(password, against: found.passwordHash) else { throw .wrongPassword }
      await passwords.succeeded(attempt)
      return { connection in
        guard try connection.lock(session.user),
          try SessionRecords(connection: connection).has(session.id, of: session.user),
          let account = try UserRecords(connection: connection).account(session.user)
        else { throw AccountsError.sessionEnded }
        guard account.passwordVersion == found.passwordVersion else { throw AccountsError.wrongPassword }
      }
    } catch {
      if error == .wrongPassword { passwords.failed(attempt) } else { await passwords.abandoned(attempt) }
      throw error
    }
  }
}
