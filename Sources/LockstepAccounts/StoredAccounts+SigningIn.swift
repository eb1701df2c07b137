import LockstepCollections
import LockstepStore
import LockstepTime

extension StoredAccounts {
  /// How long an expired session stays in the store, in milliseconds. Memory may have a later
  /// use, which must be written before the session is deleted.
  private static let expiryGrace: Int64 = 86_400_000

  /// The faults that can be found without reading the store.
  package func signUpFaults(in credentials: Credentials) -> [FieldFault] { check(signingUp: credentials).faults }

  /// The faults that do not depend on the user.
  package func logInFaults(in credentials: Credentials) -> [FieldFault] {
    var check = FieldCheck()
    _ = Self.device(credentials, &check)
    return check.faults
  }

  package func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn {
    try await commit(prepareLogIn(credentials))
  }

  /// Prepares a new user with a first session. Throws `invalid` with every fault, `addressTaken`,
  /// `registrationClosed`, `tooManyAttempts`.
  package func prepareSignUp(
    _ credentials: Credentials
  ) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    guard configuration.registration == .open else { throw .registrationClosed }
    let (given, device, faults) = check(signingUp: credentials)
    guard let address = given, faults.isEmpty else { throw .invalid(faults) }

    // Avoids a hash if the e-mail address is taken. The transaction checks the address again.
    if try await account(withKey: address.key) != nil { throw .addressTaken }
    let hash = try await newHash(of: credentials.password, account: address.key, from: credentials.network)
    let account = Account(UserID(ids.next()), address, hash, at: now)
    let new = newSession(of: account.user, device: device)
    return PreparedAccountsWrite { connection in
      guard try UserRecords(connection: connection).insert(account) else { throw AccountsError.addressTaken }
      try SessionRecords(connection: connection).insert(new.stored)
      return (new.signedIn, [])
    }
  }

  /// The hash of an account's first password. Counts as a sign-up from the network.
  func newHash(
    of password: Password,
    account: String,
    from network: ClientNetwork
  ) async throws(AccountsError) -> PasswordHash {
    let attempt = try await passwords.signUp(account: account, from: network)
    let hash: PasswordHash
    do throws(AccountsError) {
      hash = try await hasher.hash(password, for: .change(network))
    } catch {
      await passwords.abandoned(attempt)
      throw error
    }
    await passwords.succeeded(attempt)
    return hash
  }

  /// Prepares a new session. An unknown e-mail address takes as long as a wrong password, except
  /// that of an imported user who has not logged in. Throws `wrongCredentials`, `disabled`,
  /// `tooManyAttempts`, and `invalid` for the device's name. The rules for new passwords do not
  /// apply.
  package func prepareLogIn(_ credentials: Credentials) async throws(AccountsError) -> PreparedAccountsWrite<SignedIn> {
    var check = FieldCheck()
    let device = Self.device(credentials, &check)
    try check.finish()
    // An invalid e-mail address belongs to no user, and must take as long as an unknown one.
    let key = addressKey(of: credentials)
    let attempt = try await passwords.logIn(account: key, from: credentials.network)
    let owner = HashingOwner.login(credentials.network, isKnown: attempt.isKnown)
    let account: Account
    let newHash: PasswordHash?
    do throws(AccountsError) {
      let found = try await self.account(withKey: key)
      // One hash, whether or not there is such a user.
      let hash = found?.passwordHash ?? hasher.dummy
      let isRight = try await hasher.verify(credentials.password, against: hash, for: owner)
      guard let found, isRight else { throw .wrongCredentials }
      account = found
      newHash = hasher.isOutdated(hash) ? try await hasher.hash(credentials.password, for: owner) : nil
    } catch {
      if error == .wrongCredentials { passwords.failed(attempt) } else { await passwords.abandoned(attempt) }
      throw error
    }
    await passwords.succeeded(attempt)
    return write(newSession(of: account.user, device: device), into: account, rehashed: newHash)
  }

  private func write(
    _ new: NewSession,
    into account: Account,
    rehashed: PasswordHash?
  ) -> PreparedAccountsWrite<SignedIn> {
    let (id, keeping) = (account.user.id, configuration.sessionsPerUser)
    return PreparedAccountsWrite { connection in
      let users = UserRecords(connection: connection)
      // In the meantime the password may have changed, and the user may be disabled or erased.
      try connection.lock(id)
      let current = try users.account(id)
      guard let current, current.passwordVersion == account.passwordVersion else {
        throw AccountsError.wrongCredentials
      }
      if current.isDisabled { throw AccountsError.disabled }
      if let rehashed { try users.rehash(id, rehashed) }
      return (new.signedIn, try Self.insert(new.stored, keeping: keeping, in: connection))
    }
  }

  /// Inserts a session. Returns other sessions that have ended.
  static func insert(
    _ new: StoredSession,
    keeping count: Int,
    in connection: StoreConnection
  ) throws -> [EndedSession] {
    let sessions = SessionRecords(connection: connection)
    try sessions.insert(new)
    let leastRecent = try sessions.endLeastRecentlyUsed(of: new.user, keeping: count, at: new.session.createdAt)
    // Each login adds one session and deletes up to 16, so that no other cleanup is needed.
    let longExpired = new.session.createdAt.advanced(by: -expiryGrace)
    return leastRecent + (try sessions.removeExpired(before: longExpired, limit: 16))
  }

  private func check(signingUp credentials: Credentials) -> (EmailAddress?, DeviceName?, faults: [FieldFault]) {
    var check = FieldCheck()
    let address = check.value(at: "/email") { try EmailAddress(credentials.email) }
    check.add(configuration.passwordRules.faults(in: credentials.password, of: address), at: "/password")
    let device = Self.device(credentials, &check)
    return (address, device, check.faults)
  }

  private static func device(_ credentials: Credentials, _ check: inout FieldCheck) -> DeviceName? {
    device(credentials.device, &check)
  }

  static func device(_ name: String?, _ check: inout FieldCheck) -> DeviceName? {
    guard let name else { return nil }
    return check.value(at: "/device") { try DeviceName(name) }
  }

  package func account(withKey key: String) async throws(AccountsError) -> Account? {
    try await read { try UserRecords(connection: $0).account(withKey: key) }
  }

  struct NewSession: Sendable {
    let stored: StoredSession
    let signedIn: SignedIn
  }

  func newSession(of user: User, device: DeviceName?) -> NewSession {
    let token = tokenIssuer.make(for: user.id)
    let session = session(SessionID(ids.next()), device: device)
    return NewSession(
      stored: StoredSession(session: session, user: user.id, tokenHash: token.hash),
      signedIn: SignedIn(user: user, session: session, token: token)
    )
  }

  /// A new session.
  func session(_ id: SessionID, device: DeviceName?) -> Session {
    let now = now
    return Session(
      id: id,
      device: device?.text,
      createdAt: now,
      lastSeenAt: now,
      expiresAt: now.advanced(by: configuration.tokenLifetime.wholeMilliseconds)
    )
  }

  // MARK: Sealed responses

  /// The key of the e-mail address. If the text is not an e-mail address, its beginning.
  package func addressKey(of credentials: Credentials) -> String { Self.addressKey(of: credentials.email) }

  static func addressKey(of email: String) -> String {
    (try? EmailAddress(email))?.key
      ?? String(decoding: email.utf8.prefix(EmailAddress.maximumBytes), as: UTF8.self)
  }

  /// A seal with the credentials' password, for the response to one idempotency key.
  package func seal(
    for credentials: Credentials,
    key: String,
    _ owner: HashingOwner
  ) async throws(AccountsError) -> ResponseSeal {
    let salt = DomainHash.of("seal", Array(addressKey(of: credentials).utf8), Array(key.utf8), count: 16)
    return try await ResponseSeal(credentials.password, salt: salt, hasher: hasher, for: owner)
  }

  /// Passes the seal of the credentials to `open`. If `open` returns nil, this counts like a login
  /// with a wrong password, because a client could try passwords in this way.
  package func opening<Value>(
    _ credentials: Credentials,
    key: String,
    _ open: (ResponseSeal) -> Value?
  ) async throws(AccountsError) -> Value? {
    let attempt = try await passwords.logIn(account: addressKey(of: credentials), from: credentials.network)
    let seal: ResponseSeal
    do throws(AccountsError) {
      seal = try await self.seal(for: credentials, key: key, .login(credentials.network, isKnown: attempt.isKnown))
    } catch {
      await passwords.abandoned(attempt)
      throw error
    }
    guard let value = open(seal) else { return nil }
    await passwords.succeeded(attempt)
    return value
  }
}

extension Timestamp {
  fileprivate func advanced(by milliseconds: Int64) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 + milliseconds)
  }
}
