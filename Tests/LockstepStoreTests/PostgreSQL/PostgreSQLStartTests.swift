import LockstepPostgreSQL
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepStateTestSupport
@testable import LockstepStore

/// A role that may use a store in PostgreSQL, but does not own it.
private struct TestRole {
  let name: String
  private let database: TestDatabase

  init(_ database: TestDatabase, options: String = "", hasTables: Bool = true) throws {
    self.database = database
    name = "role" + database.folder.path.suffix(8).filter { $0.isLetter || $0.isNumber }.lowercased()
    if hasTables { try DurableStore(postgreSQL: database.connectionString).close() }
    try database.execute(
      """
      CREATE ROLE \(name) LOGIN \(options);
      DO $$ BEGIN
        EXECUTE format('GRANT ALL ON SCHEMA %I TO \(name)', current_schema());
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO \(name)', current_schema());
      END $$
      """
    )
  }

  var connectionString: String { "\(database.connectionString) user=\(name)" }

  func remove() { try? database.execute("DROP OWNED BY \(name); DROP ROLE \(name)") }
}

@Suite(
  "The start of a server on PostgreSQL",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct PostgreSQLStartTests {
  @Test("A server that gets too few connections does not start, and says how many it needs")
  func connections() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let role = try TestRole(database, options: "CONNECTION LIMIT 5", hasTables: false)
    defer { role.remove() }
    let connectionString = role.connectionString
    do {
      try await valueAside { try DurableStore(postgreSQL: connectionString, patience: .seconds(2)).close() }
      Issue.record("the server has started")
    } catch {
      guard case StoreError.tooFewConnections(open: 5, needed: 8, _) = error else { throw error }
      #expect("\(error)".hasPrefix("A node needs 8 connections to PostgreSQL, and got 5: "), "\(error)")
    }
    let tables = "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    #expect(try database.count(tables) == 0, "nothing was changed")
    // The connections that it had opened are closed. Their processes end a little later.
    let open = "SELECT count(*) FROM pg_stat_activity WHERE usename = '\(role.name)'"
    try await eventually { try database.count(open) == 0 }
  }

  @Test("A server whose role may not change one of the tables does not start, and names the table")
  func rights() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let role = try TestRole(database)
    defer { role.remove() }
    try DurableStore(postgreSQL: role.connectionString).close()
    try database.execute("REVOKE DELETE ON sessions FROM \(role.name)")
    #expect {
      try DurableStore(postgreSQL: role.connectionString)
    } throws: { error in
      guard case .missingRight(_, role: role.name, table: "sessions") = error as? StoreError else { return false }
      return true
    }
  }

  @Test("A server whose role may not create tables does not start on an empty database, and says who may")
  func emptyDatabase() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let role = try TestRole(database, hasTables: false)
    defer { role.remove() }
    try database.execute(
      "DO $$ BEGIN EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM \(role.name)', current_schema()); END $$"
    )
    #expect {
      try DurableStore(postgreSQL: role.connectionString)
    } throws: { error in
      guard case .cannotCreateTables(_, role: role.name, _) = error as? StoreError else { return false }
      return true
    }
  }

  @Test("A search path without a schema that exists is refused with advice")
  func searchPath() throws {
    let server = try #require(TestedStore.anyServer)
    do {
      try DurableStore(postgreSQL: "\(server) options='-c search_path=nowhere'").close()
      Issue.record("the server has started")
    } catch {
      #expect("\(error)".contains("its search_path names no schema that exists"), "\(error)")
    }
  }

  @Test("Connections that were lost before their first use are replaced")
  func lostConnections() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    try database.endConnections()
    try await eventually {
      try database.count(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = current_setting('application_name')"
      )
        == 1
    }
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 { group.addTask { try await store.readers.read { _ = try $0.storeID() } } }
      group.addTask { try await store.writer.write { _ in } }
      try await group.waitForAll()
    }
    await aside { store.close() }
  }

  @Test("A start that waits for the database says so once")
  func waiting() async {
    let reasons = LockedState<[String]>([])
    await #expect(throws: StoreError.self) {
      try await valueAside {
        let store = try DurableStore(
          postgreSQL: "host=/nowhere dbname=lockstep",
          patience: .seconds(5),
          onWait: { error in reasons.withLock { $0.append("\(error)") } }
        )
        store.close()
      }
    }
    let all = reasons.withLock { $0 }
    #expect(all.count == 1 && all[0].contains("cannot connect to PostgreSQL"), "\(all)")
  }
}
