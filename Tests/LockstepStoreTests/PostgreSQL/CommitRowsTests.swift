import LockstepCollections
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "The commits that a server reads",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(2))
)
struct CommitRowsTests {
  /// A transaction that writes one row.
  private final class Writer {
    let connection: PostgreSQLConnection
    let user: UserID

    init(_ database: TestDatabase, _ number: UInt64) throws {
      connection = try PostgreSQLConnection(database.connectionString)
      user = UserID(try #require(UUIDv7(high: 0x7000, low: 0x8000_0000_0000_0000 + number)))
      try connection.execute("BEGIN")
      try connection.run(
        CommitRows.insertGroup,
        [.uuid(PostgreSQLUUID(high: 1, low: 1)), .uuids([user.value]), .integers([1])]
      )
    }

    func end(commits: Bool) throws { try connection.execute(commits ? "COMMIT" : "ROLLBACK") }
  }

  @Test("Each commit is read once, in whatever order transactions begin and end", arguments: 0..<5)
  func exactlyOnce(seed: UInt64) throws {
    let database = try TestDatabase()
    defer { database.remove() }
    try DurableStore(postgreSQL: database.connectionString).close()
    let session = PostgreSQLSession(try PostgreSQLConnection(database.connectionString))
    let first = PostgreSQLStatement("SELECT pg_current_snapshot()::text")
    var snapshot = try session.connection.query(first).row(0).text(at: 0)
    var random = SeededNumbers(seed: seed)
    var (open, committed, seen): ([Writer], Set<UserID>, [UserID]) = ([], [], [])
    func look() throws {
      let reading = try CommitRows.changes(
        after: snapshot,
        except: PostgreSQLUUID(high: 2, low: 2),
        from: session
      )
      seen += reading.changes.heads.keys
      snapshot = reading.snapshot
    }
    for number in 0..<120 {
      if open.count < 6, Bool.random(using: &random) { open.append(try Writer(database, UInt64(number))) }
      if !open.isEmpty, Bool.random(using: &random) {
        let writer = open.remove(at: Int.random(in: open.indices, using: &random))
        let commits = Int.random(in: 0..<5, using: &random) > 0
        try writer.end(commits: commits)
        if commits { committed.insert(writer.user) }
      }
      if Int.random(in: 0..<4, using: &random) == 0 { try look() }
    }
    for writer in open {
      try writer.end(commits: true)
      committed.insert(writer.user)
    }
    try look()
    #expect(Set(seen) == committed, "seed \(seed)")
    #expect(seen.count == committed.count, "seed \(seed)")
  }

  @Test("The commits of the server's own writer are left out, and ended sessions never are")
  func ownCommits() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    try DurableStore(postgreSQL: database.connectionString).close()
    let session = PostgreSQLSession(try PostgreSQLConnection(database.connectionString))
    let own = PostgreSQLUUID(high: 7, low: 7)
    let user = UserID(try #require(UUIDv7(high: 0x7000, low: 0x8000_0000_0000_0001)))
    let ended = SessionID(try #require(UUIDv7(high: 0x7000, low: 0x8000_0000_0000_0002)))
    let hash = TokenHash(words: SIMD4(1, 2, 3, 4))
    let before = try session.connection.query(PostgreSQLStatement("SELECT pg_current_snapshot()::text")).row(0)
      .text(at: 0)
    try session.connection.run(
      CommitRows.insertGroup,
      [.uuid(own), .uuids([user.value]), .integers([1])]
    )
    _ = try session.connection.query(
      CommitRows.insert,
      [
        .uuid(own), .uuids([]), .optionalIntegers([]), .uuids([ended.value]), .byteStrings([hash.bytes]),
        .texts(["serviceTokens"]),
      ]
    )
    let changes = try CommitRows.changes(after: before, except: own, from: session).changes
    #expect(changes.heads.isEmpty)
    #expect(changes.endedSessions == [EndedSession(id: ended, tokenHash: hash)])
    #expect(changes.topics == [.serviceTokens])
    let other = try CommitRows.changes(after: before, except: PostgreSQLUUID(high: 8, low: 8), from: session).changes
    #expect(other.heads == [user: 1])
  }
}
