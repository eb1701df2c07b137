import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Accounts in the store.
///
/// Each change comes in two forms: the method of `AccountsService`, which does all of it, and a `prepare…` that does the
/// slow part and gives an `PreparedAccountsWrite`, for whoever has more to write in the same transaction.
public final class StoredAccounts: AccountsService {
  /// Who a token belongs to.
  public let directory: SessionDirectory

  package let configuration: AccountsConfiguration
  let hasher: any PasswordHashing
  package let limiter: AttemptLimiter
  let mint: TokenIssuer
  private let ids: UUIDv7Generator
  private let readers: ReaderPool
  private let writer: DatabaseWriter
  private let time: TimeSource

  /// - Parameters:
  ///   - readers: Where is read.
  ///   - writer: Where is written.
  ///   - tokenKey: The store's, from `TokenKey.findOrMake`.
  ///   - hasher: What hashes passwords.
  ///   - random: Random numbers that nobody can foretell: `Sodium.randomWord`.
  ///   - time: Where the time comes from.
  ///   - configuration: What may be chosen.
  public init(
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
    mint = TokenIssuer(key: tokenKey, random: random)
    ids = UUIDv7Generator(now: time.millisecondsSince1970, random: random)
    limiter = AttemptLimiter(configuration.attempts, elapsed: time.elapsed)
    directory = SessionDirectory(
      readers: readers,
      writer: writer,
      mint: mint,
      lifetime: configuration.tokenLifetime,
      capacity: configuration.sessionsInMemory
    )
  }

  /// To be called when the transaction that holds it is on disk, before anybody is told: what has ended ends in memory.
  public func finish<Value>(_ written: PreparedAccountsWrite<Value>.Written) -> Value {
    directory.end(written.ended)
    return written.value
  }

  /// See `AccountsService`.
  public func user(_ id: UserID) async throws(AccountsError) -> User? {
    try await read { try UserRecords(connection: $0).account(id)?.user }
  }

  /// See `AccountsService`.
  public func sessions(of user: UserID) async throws(AccountsError) -> [Session] {
    let now = now
    return try await read { try SessionRecords(connection: $0).sessions(of: user, at: now) }.map(directory.latest)
  }

  /// One of the user's sessions that has not expired; nil where there is none of this id.
  package func session(_ id: SessionID, of user: UserID, from connection: SQLiteConnection) throws -> Session? {
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now)
    return sessions.first { $0.session.id == id }.map(directory.latest)
  }

  /// See `AccountsService`.
  public func export(_ user: UserID) async throws(AccountsError) -> JSONObject? {
    try await read { try self.export(user, from: $0) }
  }

  /// What `export(_:)` gives, read through a connection on which others may read their parts of the same moment.
  public func export(_ user: UserID, from connection: SQLiteConnection) throws -> JSONObject? {
    guard let account = try UserRecords(connection: connection).account(user) else { return nil }
    let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now).map(directory.latest)
    return AccountsExport.json(account, sessions)
  }

  var now: Timestamp { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }

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
    directory.endings.begin()
    defer { directory.endings.finish() }
    do {
      return finish(try await writer.write { try write.run(in: $0) })
    } catch {
      throw AccountsError(thrown: error)
    }
  }
}
