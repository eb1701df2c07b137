import LockstepCollections
import LockstepSQLite
import LockstepStore

extension StoredAccounts {
  /// See `AccountsService`.
  public func revoke(_ session: SessionID, of user: UserID) async throws(AccountsError) {
    try await commit(revoking(session, of: user))
  }

  /// What `revoke(_:of:)` writes.
  public func revoking(_ session: SessionID, of user: UserID) -> PreparedAccountsWrite<Void> {
    PreparedAccountsWrite { connection in
      guard let ended = try SessionRecords(connection: connection).end(session, of: user) else {
        throw AccountsError.noSuchSession
      }
      return ((), [ended])
    }
  }

  /// See `AccountsService`.
  public func faults(inNew password: Password) -> [FieldFault] {
    var check = FieldCheck()
    check.add(configuration.passwordRules.faults(in: password, of: nil), at: "/new")
    return check.faults
  }

  /// See `AccountsService`.
  public func changePassword(
    from current: Password,
    to new: Password,
    in session: LiveSession
  ) async throws(AccountsError) {
    try await commit(prepareChangePassword(from: current, to: new, in: session))
  }

  /// The slow part of `changePassword(from:to:in:)`.
  public func prepareChangePassword(
    from current: Password,
    to new: Password,
    in session: LiveSession
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let confirmed = try await confirmed(current, in: session) { (account) throws(AccountsError) in
      var check = FieldCheck()
      let address = try? EmailAddress(account.user.email)
      check.add(configuration.passwordRules.faults(in: new, of: address), at: "/new")
      try check.finish()
    }
    let hash = try await hasher.hash(new)
    let now = now
    return PreparedAccountsWrite { connection in
      try confirmed.check(in: connection)
      try UserRecords(connection: connection).changePassword(of: session.user, to: hash, at: now)
      return ((), try SessionRecords(connection: connection).endAll(of: session.user, except: session.id))
    }
  }

  /// See `AccountsService`.
  public func erase(confirmedBy password: Password, in session: LiveSession) async throws(AccountsError) {
    try await commit(prepareErase(confirmedBy: password, in: session))
  }

  /// The slow part of `erase(confirmedBy:in:)`.
  public func prepareErase(
    confirmedBy password: Password,
    in session: LiveSession
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    let confirmed = try await confirmed(password, in: session)
    return PreparedAccountsWrite { connection in
      try confirmed.check(in: connection)
      let ended = try SessionRecords(connection: connection).endAll(of: session.user)
      try UserRecords(connection: connection).erase(session.user)
      return ((), ended)
    }
  }

  /// See `AccountsService`.
  public func setDisabled(_ isDisabled: Bool, _ user: UserID) async throws(AccountsError) -> Bool {
    let now = now
    return try await commit(
      PreparedAccountsWrite { connection in
        let exists = try UserRecords(connection: connection).setDisabled(user, since: isDisabled ? now : nil)
        return (exists, isDisabled ? try SessionRecords(connection: connection).endAll(of: user) : [])
      }
    )
  }

  /// Checks a password that is asked for again, as one of a limited number of attempts. `condition` is what else must
  /// hold; it's looked at before the password's hash is computed.
  private func confirmed(
    _ password: Password,
    in session: LiveSession,
    if condition: (Account) throws(AccountsError) -> Void = { _ in }
  ) async throws(AccountsError) -> Confirmation {
    let attempt = try limiter.confirm(in: session.id)
    do throws(AccountsError) {
      let found = try await read { try UserRecords(connection: $0).account(session.user) }
      guard let found else { throw .sessionEnded }
      try condition(found)
      guard try await hasher.verify(password, against: found.passwordHash) else { throw .wrongPassword }
      limiter.succeeded(attempt)
      return Confirmation(user: session.user, session: session.id, passwordVersion: found.passwordVersion)
    } catch {
      if error == .wrongPassword { limiter.failed(attempt) } else { limiter.abandoned(attempt) }
      throw error
    }
  }
}

/// A password that was right a moment ago, in a session that was there.
private struct Confirmation: Sendable {
  let user: UserID
  let session: SessionID
  let passwordVersion: Int

  /// Throws when something of that has changed.
  package func check(in connection: SQLiteConnection) throws {
    guard try SessionRecords(connection: connection).exists(session, of: user),
      let account = try UserRecords(connection: connection).account(user)
    else { throw AccountsError.sessionEnded }
    guard account.passwordVersion == passwordVersion else { throw AccountsError.wrongPassword }
  }
}
