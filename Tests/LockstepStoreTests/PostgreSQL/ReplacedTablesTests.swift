import Testing

@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Views and foreign tables in place of Lockstep's tables",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct ReplacedTablesTests {
  @Test("They are found without temporary tables, which some roles may not create")
  func replaced() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try StoreDatabase(database.connectionString)
    _ = try store.migrate(at: 0)
    try database.execute("CREATE VIEW own AS TABLE users")
    #expect(try store.replacedTables() == [])
    try database.execute(
      """
      ALTER TABLE snapshots RENAME TO other; CREATE VIEW snapshots AS TABLE other;
      DROP TABLE attempts; CREATE MATERIALIZED VIEW attempts AS TABLE users
      """
    )
    #expect(
      try store.replacedTables() == [
        "attempts is a materialized view instead of a table", "snapshots is a view instead of a table",
      ]
    )
  }
}
