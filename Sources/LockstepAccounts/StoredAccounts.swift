import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepStore
import LockstepTime

/// The accounts in the store: sign up, log in, sessions and changes.
///
/// A method `prepare…` does the slow part of a change and returns a `PreparedAccountsWrite`, so that a caller can write
/// more in the same transaction. `commit(_:)` writes it. When `commit` returns, the change is on disk, and sessions that
/// it ended are refused.
package final class StoredAccounts: Sendable {
  package let directory: SessionDirectory

  package let configuration: AccountsConfiguration
  let hasher: any PasswordHashing
  package let limiter: AttemptLimiter
  let tokenIssuer: TokenIssuer
  private let ids: UUIDv7Generator
  private let readers: ReaderPool
  private let writer: DatabaseWriter
  private let time: TimeSource

  /// `random` must be unpredictable: `Sodium.randomWord`.
  package init(
    readers: ReaderPool,
    writer: DatabaseWriter,
    tokenKey: TokenKey,
    hasher: any PasswordHashing,
    random: @escaping @Sendable () -> UInt64,
    time: TimeSource,
    configuration: AccountsConfiguration = AccountsConfiguration()
  ) {
    self.readers = readers
    self.writer = writer
    self.hasher = hasher
    self.time = time
    self.configuration = configuration
    tokenIssuer = TokenIssuer(key: tokenKey, random: random)
    ids = UUIDv7Generator(now: time.millisecondsSince1970, random: random)
    limiter = AttemptLimiter(configuration.attempts, elapsed: time.elapsed)
    directory = SessionDirectory(
      readers: readers,
      writer: writer,
      tokenIssuer: tokenIssuer,
      lifetime: configuration.tokenLifetime,
      capacity: configuration.sessionsInMemory
    )
  }

  /// Ends the ended sessions in memory. Call it after the commit and before the response.
  package func finish<Value>(_ written: PreparedAccountsWrite<Value>.Written) -> Value {
    directory.end(written.ended)
    return written.value
  }

  /// The user; nil after the user was erased.
  package func user(_ id: UserID) async throws(AccountsError) -> User? {
    try await read { try UserRecords(connection: $0).account(id)?.user }
  }

  /// The user's sessions, oldest first.
  package func sessions(of user: UserID) async throws(AccountsError) -> [Session] {
    let now = now
    return try await read { try SessionRecords(connection: $0).sessions(of: user, at: now) }.map(directory.latest)
  }

  /// A session of the user that has not expired, or `nil` if there is none with this id.
  package func session(_ id: SessionID, of user: UserID, from connection: SQLiteConnection) throws -> Session? {
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now)
    return sessions.first { $0.session.id == id }.map(directory.latest)
  }

  /// The account's members of an export, without secrets; nil after the user was erased.
  package func export(_ user: UserID, from connection: SQLiteConnection) throws -> JSONObject? {
    guard let account = try UserRecords(connection: connection).account(user) else { return nil }
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now).map(directory.latest)
    return AccountsExport.json(account, sessions)
  }

  var now: Timestamp { time.now() }

  package func newUserID() -> UserID { UserID(ids.next()) }
  package func newSessionID() -> SessionID { SessionID(ids.next()) }

  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws(AccountsError) -> Value {
    do {
      return try await readers.read(body)
    } catch {
      throw AccountsError(thrown: error)
    }
  }

  package func commit<Value>(_ write: PreparedAccountsWrite<Value>) async throws(AccountsError) -> Value {
    directory.sessionEndings.begin()
    defer { directory.sessionEndings.finish() }
    do {
      return finish(try await writer.write { try write.run(in: $0) })
    } catch {
      throw AccountsError(thrown: error)
    }
  }
}
