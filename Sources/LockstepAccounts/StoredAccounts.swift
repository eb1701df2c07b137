import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepThreading
import LockstepTime

/// The accounts in the store: sign-ups, logins, sessions and changes.
///
/// A method `prepare…` does the slow part of a change. When `commit(_:)` returns, the change is on
/// disk, and sessions that it ended are refused.
package final class StoredAccounts: Sendable {
  package let directory: SessionDirectory

  package let configuration: AccountsConfiguration
  let hasher: any PasswordHashing
  /// Limits wrong tokens of administrators, and has the metrics.
  package let limiter: AttemptLimiter
  /// Limits passwords and sign-ups.
  let passwords: PasswordLimiter
  let tokenIssuer: TokenIssuer
  let ids: UUIDv7Generator
  private let store: DurableStore
  private let time: TimeSource
  let observer: any AccountsObserver

  /// `random` must be unpredictable: `Sodium.randomWord`.
  package init(
    store: DurableStore,
    tokenKey: TokenKey,
    hasher: any PasswordHashing,
    random: @escaping @Sendable () -> UInt64,
    time: TimeSource,
    configuration: AccountsConfiguration = AccountsConfiguration(),
    observer: any AccountsObserver
  ) {
    self.store = store
    self.hasher = hasher
    self.time = time
    self.configuration = configuration
    self.observer = observer
    tokenIssuer = TokenIssuer(key: tokenKey, random: random)
    ids = UUIDv7Generator(now: time.millisecondsSince1970, random: random)
    limiter = AttemptLimiter(configuration.attempts, elapsed: time.elapsed)
    passwords = PasswordLimiter(
      limiter,
      shared: store.attempts.map { SharedAttempts(configuration.attempts, $0, key: tokenKey, elapsed: time.elapsed) }
    )
    directory = SessionDirectory(
      store: store,
      tokenIssuer: tokenIssuer,
      lifetime: configuration.tokenLifetime,
      capacity: configuration.sessionsInMemory,
      observer: observer
    )
  }

  /// Ends in memory the sessions that the write has ended. Call it after the commit and before the
  /// response.
  package func finish<Value>(_ written: PreparedAccountsWrite<Value>.Written) -> Value {
    directory.end(written.ended)
    observer.accountsCommitted()
    return written.value
  }

  package func user(_ id: UserID) async throws(AccountsError) -> User? {
    try await read { try UserRecords(connection: $0).account(id)?.user }
  }

  /// The user's sessions, oldest first.
  package func sessions(of user: UserID) async throws(AccountsError) -> [Session] {
    let now = now
    return try await read { try SessionRecords(connection: $0).sessions(of: user, at: now) }.map(directory.latest)
  }

  /// A session of the user that has not expired.
  package func session(_ id: SessionID, of user: UserID, from connection: StoreConnection) throws -> Session? {
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now)
    return sessions.first { $0.session.id == id }.map(directory.latest)
  }

  /// The part of a user's export that the accounts have, without secrets.
  package func export(_ user: UserID, from connection: StoreConnection) throws -> JSONObject? {
    try AccountsExport.json(of: user, at: now, in: connection, latest: directory.latest)
  }

  /// The fewest characters that the password of any user may have.
  package func shortestPassword() async throws(AccountsError) -> Int {
    try await read { try ShortestPassword(connection: $0).characters() }
  }

  /// Notes in the store that passwords may be as short as the rules allow. Call it before requests.
  package func notePasswordRules() throws {
    let characters = configuration.passwordRules.minimumCharacters
    try store.write { try ShortestPassword(connection: $0).lower(to: characters) }
  }

  var now: Timestamp { time.now() }

  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (StoreConnection) throws -> Value
  ) async throws(AccountsError) -> Value {
    try await AccountsError.converting { try await store.readers.read(body) }
  }

  package func commit<Value>(_ write: PreparedAccountsWrite<Value>) async throws(AccountsError) -> Value {
    directory.sessionEndings.begin()
    defer { directory.sessionEndings.finish() }
    return try await AccountsError.converting { finish(try await store.writer.write { try write.run(in: $0) }) }
  }
}

package enum AccountsExport {
  /// `latest` returns a stored session with its latest use, which may be only in memory.
  package static func json(
    of user: UserID,
    at now: Timestamp,
    in connection: StoreConnection,
    latest: (StoredSession) -> Session = \.session
  ) throws -> JSONObject? {
    guard let account = try UserRecords(connection: connection).account(user) else { return nil }
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now).map(latest)
    var object: JSONObject = [
      "id": .string(account.user.id.description),
      "email": account.user.email.map(JSON.string) ?? .null,
      "emailVerified": .bool(account.user.isEmailVerified),
      "createdAt": .string(account.user.createdAt.description),
    ]
    if account.user.isAnonymous { object["anonymous"] = true }
    if account.passwordHash != nil { object["passwordChangedAt"] = .string(account.passwordChangedAt.description) }
    if let identity = try IdentityRecords(connection: connection).identity(of: user) {
      object["identity"] = ["issuer": .string(identity.issuer), "subject": .string(identity.subject)]
    }
    return [
      "user": .object(object),
      "sessions": .array(sessions.map { .object(json($0)) }),
    ]
  }

  private static func json(_ session: Session) -> JSONObject {
    var object: JSONObject = [
      "id": .string(session.id.description),
      "device": session.device.map(JSON.string) ?? .null,
      "createdAt": .string(session.createdAt.description),
      "lastSeenAt": .string(session.lastSeenAt.description),
      "expiresAt": .string(session.expiresAt.description),
    ]
    if let cursor = session.cursor { object["cursor"] = .string(cursor) }
    return object
  }
}
