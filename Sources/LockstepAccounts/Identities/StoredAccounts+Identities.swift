import LockstepCollections
import LockstepStore
import LockstepTime

/// The identity that a verified token was issued for, and when.
package struct IssuedIdentity: Sendable {
  package let identity: Identity
  /// Nil if the token does not say when it was issued.
  package let issuedAt: Timestamp?

  init(_ identity: Identity, issuedAt: Timestamp?) {
    (self.identity, self.issuedAt) = (identity, issuedAt)
  }
}

// Users who log in with the token of another issuer.

extension StoredAccounts {
  /// Prepares a new session for the user of an identity, who is added if there is none. Throws
  /// `invalid`, `registrationClosed`, `disabled`, `issuedBeforeEnd`, `tooManyAttempts`.
  package func prepareLogIn(
    _ issued: IssuedIdentity,
    _ client: ClientDevice
  ) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    var check = FieldCheck()
    let device = Self.device(client.device, &check)
    try check.finish()
    try await limitSignUp(issued, from: client.network)
    let (new, keeping) = (UserID(ids.next()), configuration.sessionsPerUser)
    return PreparedAccountsWrite { [self] connection in
      let user = try self.user(of: issued, orNew: new, in: connection)
      let session = newSession(of: user, device: device)
      return (session.signedIn, try Self.insert(session.stored, keeping: keeping, in: connection))
    }
  }

  /// Prepares the session of requests with an identity's tokens, and the user if there is none.
  /// Throws like `prepareLogIn`.
  package func prepareSession(
    of issued: IssuedIdentity,
    from network: ClientNetwork
  ) async throws(AccountsError) -> PreparedAccountsWrite<Void> {
    try await limitSignUp(issued, from: network)
    let (new, session, keeping) = (UserID(ids.next()), SessionID(ids.next()), configuration.sessionsPerUser)
    return PreparedAccountsWrite { [self] connection in
      let user = try self.user(of: issued, orNew: new, in: connection)
      let sessions = SessionRecords(connection: connection)
      let stored = StoredSession(
        session: self.session(session, device: nil),
        user: user.id,
        tokenHash: issued.identity.sessionHash
      )
      // The session may be in the store, because another node has made it, or because it has
      // expired.
      if try sessions.renew(stored) { return ((), []) }
      return ((), try Self.insert(stored, keeping: keeping, in: connection))
    }
  }

  /// Prepares to give an anonymous user the identity. All sessions go on. Throws `identityTaken`,
  /// `hasCredentials`, `sessionEnded`.
  package func prepareCredentials(
    _ issued: IssuedIdentity,
    in session: LiveSession
  ) -> PreparedAccountsWrite<User> {
    let now = now
    return PreparedAccountsWrite { connection in
      let identities = IdentityRecords(connection: connection)
      try identities.lock(issued.identity)
      let account = try Self.account(of: session, from: connection)
      if account.hasCredentials { throw AccountsError.hasCredentials }
      if try identities.find(issued.identity) != nil { throw AccountsError.identityTaken }
      try identities.insert(issued.identity, of: session.user, at: now)
      guard let changed = try UserRecords(connection: connection).account(session.user) else {
        throw AccountsError.sessionEnded
      }
      return (changed.user, [])
    }
  }

  /// Counts a sign-up against the limit of the network, if the identity has no user yet.
  private func limitSignUp(_ issued: IssuedIdentity, from network: ClientNetwork) async throws(AccountsError) {
    if try await read({ try IdentityRecords(connection: $0).find(issued.identity) }) != nil { return }
    guard configuration.registration == .open else { throw .registrationClosed }
    await passwords.succeeded(try await passwords.signUp(account: "", from: network))
  }

  /// The user of an identity, locked until the end of the transaction. Adds a user with the id
  /// `new` if there is none.
  private func user(of issued: IssuedIdentity, orNew new: UserID, in connection: StoreConnection) throws -> User {
    let (users, identities) = (UserRecords(connection: connection), IdentityRecords(connection: connection))
    try identities.lock(issued.identity)
    if let found = try identities.find(issued.identity) {
      if issued.isOlder(than: found) { throw AccountsError.issuedBeforeEnd }
      // The user may be erased meanwhile. A repeated request adds the user again.
      guard try connection.lock(found.user), let account = try users.account(found.user) else {
        throw AccountsError.userIsBeingErased
      }
      if account.isDisabled { throw AccountsError.disabled }
      try recordLatestIssue(of: issued, in: connection)
      return account.user
    }
    // The user may have been erased since the limit was checked.
    guard configuration.registration == .open else { throw AccountsError.registrationClosed }
    let account = Account(withoutPassword: new, hasIdentity: true, at: now)
    _ = try users.insert(account)
    try identities.insert(issued.identity, of: new, at: now)
    try recordLatestIssue(of: issued, in: connection)
    return account.user
  }

  /// Prepares to record a token whose time of issue is ahead of the server's clock, so that it ends
  /// with its session. Nil if the token has no such time.
  func prepareRecordOfLatestIssue(of issued: IssuedIdentity) -> PreparedAccountsWrite<Void>? {
    guard let issue = issued.issuedAt, issue > now else { return nil }
    return PreparedAccountsWrite { connection in
      try IdentityRecords(connection: connection).recordLatestIssue(issue, of: issued.identity)
      return ((), [])
    }
  }

  private func recordLatestIssue(of issued: IssuedIdentity, in connection: StoreConnection) throws {
    if let write = prepareRecordOfLatestIssue(of: issued) { _ = try write.run(in: connection) }
  }
}
