import LockstepMigrations
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepMaintenance
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("Migrating a store by a command", .timeLimit(.minutes(10)))
struct StoreMigrationTests {
  private let files: StoreFixture

  init() throws {
    files = try StoreFixture()
  }

  @Test("A file gets what it lacks, and a second run has nothing to do")
  func file() throws {
    let known = Migration.all.count
    try files.store(migrator: Migrator(Array(Migration.all.dropLast(2)))).close()
    let migration = StoreMigration(of: .file(files.path))
    #expect(
      try migration.run()
        == .init(name: files.path, applied: Migration.all.suffix(2).map(\.name), schema: known)
    )
    #expect(try migration.run() == .init(name: files.path, applied: [], schema: known))
    let store = try files.store()
    defer { store.close() }
    #expect(throws: StoreError.inUse(path: files.path)) { try migration.run() }
  }

  @Test(
    "A database gets what it lacks, in one transaction",
    .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil }
  )
  func database() throws {
    let string = try TestedStore.database(for: files.path, on: #require(TestedStore.anyServer))
    defer { TestedStore.drop(files.path) }
    let (all, known) = (Migration.postgreSQL, Migration.postgreSQL.count)
    let session = PostgreSQLSession(try PostgreSQLConnection(string))
    let id = try PostgreSQLMigrator(Migrator(), migrations: Array(all.prefix(4))).migrate(
      session,
      newID: "first",
      now: 1
    )
    #expect(throws: MaintenanceError.self) { try StoreDatabase(withCurrentSchema: string) }
    // The next migration fails, so the database stays as it is.
    try session.execute("CREATE TABLE commits (a integer)")
    #expect(throws: PostgreSQLError.self) { try StoreMigration(of: .database(string)).run() }
    try session.execute("DROP TABLE commits")
    let outcome = try StoreMigration(of: .database(string)).run()
    #expect(outcome.applied == all.dropFirst(4).map(\.name) && outcome.schema == known)
    #expect(try StoreMigration(of: .database(string)).run().applied == [])
    #expect(try StoreConnection.postgreSQL(session).storeID() == id)
  }
}
