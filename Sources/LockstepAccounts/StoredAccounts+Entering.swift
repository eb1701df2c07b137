import LockstepCollections
import LockstepStore
import LockstepTime

extension StoredAccounts {
  /// How long a session stays in the store after it has expired, in milliseconds: a day. Its last use may be known to the memory alone, and it
  /// must not be swept away before that is written.
  private static let expiryGrace: Int64 = 86_400_000

  /// See `AccountsService`.
  public func signUpFaults(in credentials: Credentials) -> [FieldFault] { check(signingUp: credentials).faults }

  /// See `AccountsService`.
  public func logInFaults(in credentials: Credentials) -> [FieldFault] {
    var check = FieldCheck()
    _ = Self.device(credentials, &check)
    return check.faults
  }

  /// See `AccountsService`.
  public func signUp(_ credentials: Credentials) async throws(AccountsError) -> SignedIn {
    try await commit(prepareSignUp(credentials))
  }

  /// See `AccountsService`.
  public func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn {
    try await commit(prepareLogIn(credentials))
  }

  /// The slow part of `signUp(_:)`.
  public func prepareSignUp(_ credentials: Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    guard configuration.registration == .open else { throw .registrationClosed }
    let (given, device, faults) = check(signingUp: credentials)
    guard let address = given, faults.isEmpty else { throw .invalid(faults) }

    // A hash is too dear for what is known to fail. Whether the address is free, the unit decides.
    if try await account(withKey: address.key) != nil { throw .addressTaken }
    let attempt = try limiter.signUp(account: address.key, from: credentials.network)
    let hash: PasswordHash
    do throws(AccountsError) {
      hash = try await hasher.hash(credentials.password)
    } catch {
      limiter.abandoned(attempt)
      throw error
    }
    limiter.succeeded(attempt)
    let account = newAccount(address, hash)
    let new = newSession(of: account.user, device: device)
    return PreparedAccountsWrite { connection in
      guard try UserRecords(connection: connection).insert(account) else { throw AccountsError.addressTaken }
      try SessionRecords(connection: connection).insert(new.stored)
      return (new.signedIn, [])
    }
  }

  /// The slow part of `logIn(_:)`.
  public func prepareLogIn(_ credentials: Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    var check = FieldCheck()
    let device = Self.device(credentials, &check)
    try check.finish()
    // What is no address is nobody's, and it takes as long to say so as with any other that is nobody's.
    let key = addressKey(of: credentials)
    let attempt = try limiter.logIn(account: key, from: credentials.network)
    let account: Account
    let newHash: PasswordHash?
    do throws(AccountsError) {
      let found = try await self.account(withKey: key)
      // One computation, whether or not there is such a user.
      let isRight = try await hasher.verify(credentials.password, against: found?.passwordHash ?? hasher.dummy)
      guard let found, isRight else { throw .wrongCredentials }
      account = found
      newHash = hasher.isOutdated(found.passwordHash) ? try await hasher.hash(credentials.password) : nil
    } catch {
      if error == .wrongCredentials { limiter.failed(attempt) } else { limiter.abandoned(attempt) }
      throw error
    }
    limiter.succeeded(attempt)
    return write(newSession(of: account.user, device: device), into: account, rehashed: newHash)
  }

  private func write(
    _ new: NewSession,
    into account: Account,
    rehashed: PasswordHash?
  ) -> PreparedAccountsWrite<SignedIn> {
    let (id, keeping) = (account.user.id, configuration.sessionsPerUser)
    let longExpired = new.stored.session.createdAt.advanced(by: -Self.expiryGrace)
    return PreparedAccountsWrite { connection in
      let (users, sessions) = (UserRecords(connection: connection), SessionRecords(connection: connection))
      // While the password was checked, it may have been changed, and the user disabled or erased.
      let current = try users.account(id)
      guard let current, current.passwordVersion == account.passwordVersion else {
        throw AccountsError.wrongCredentials
      }
      if current.isDisabled { throw AccountsError.disabled }
      if let rehashed { try users.rehash(id, rehashed) }
      try sessions.insert(new.stored)
      let crowdedOut = try sessions.endLeastRecentlyUsed(of: id, keeping: keeping)
      // Each login sweeps away more than it adds, so that nothing else has to.
      let expired = try sessions.removeExpired(before: longExpired, limit: 16)
      return (new.signedIn, crowdedOut + expired)
    }
  }

  private func check(signingUp credentials: Credentials) -> (EmailAddress?, DeviceName?, faults: [FieldFault]) {
    var check = FieldCheck()
    let address = check.value(at: "/email") { () throws(EmailAddress.Invalid) in try EmailAddress(credentials.email) }
    check.add(configuration.passwordRules.faults(in: credentials.password, of: address), at: "/password")
    let device = Self.device(credentials, &check)
    return (address, device, check.faults)
  }

  private static func device(_ credentials: Credentials, _ check: inout FieldCheck) -> DeviceName? {
    guard let device = credentials.device else { return nil }
    return check.value(at: "/device") { () throws(DeviceName.Invalid) in try DeviceName(device) }
  }

  package func account(withKey key: String) async throws(AccountsError) -> Account? {
    try await read { try UserRecords(connection: $0).account(withKey: key) }
  }

  private func newAccount(_ address: EmailAddress, _ hash: PasswordHash) -> Account {
    let now = now
    return Account(
      user: User(id: newUserID(), email: address.text, createdAt: now),
      emailKey: address.key,
      passwordHash: hash,
      passwordVersion: 1,
      passwordChangedAt: now,
      isDisabled: false
    )
  }

  /// A session that isn't in the store yet, and what is told about it when it is.
  private struct NewSession: Sendable {
    let stored: StoredSession
    let signedIn: SignedIn
  }

  private func newSession(of user: User, device: DeviceName?) -> NewSession {
    let (token, now) = (mint.make(), now)
    let session = Session(
      id: newSessionID(),
      device: device?.text,
      createdAt: now,
      lastSeenAt: now,
      expiresAt: now.advanced(by: configuration.tokenLifetime.wholeMilliseconds)
    )
    return NewSession(
      stored: StoredSession(session: session, user: user.id, tokenHash: token.hash),
      signedIn: SignedIn(user: user, session: session, token: token)
    )
  }
}

extension Timestamp {
  /// So much later, or earlier.
  fileprivate func advanced(by milliseconds: Int64) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 + milliseconds)
  }
}
