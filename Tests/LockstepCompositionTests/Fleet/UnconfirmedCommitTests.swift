import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Commits that no standby confirms",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct UnconfirmedCommitTests {
  /// From now on, each commit of `insertion` hangs while the connection is open, as a commit hangs that waits
  /// for a synchronous standby. Each test has a lock of its own, because the tests share a database.
  private static func hang(_ database: TestDatabase, lock: Int) throws -> PostgreSQLConnection {
    try database.execute(
      """
      CREATE TABLE hanging (id integer);
      CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
        BEGIN PERFORM pg_advisory_xact_lock(\(lock)); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER hang AFTER INSERT ON hanging DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hang();
      """
    )
    return try database.holding(lock: lock)
  }

  private static let insertion: @Sendable (StoreConnection) throws -> Void = {
    _ = try $0.run("INSERT INTO hanging (id) VALUES (1)")
  }

  private static func waitUntilItHangs(_ database: TestDatabase, lock: Int) async throws {
    try await eventually {
      try database.count(
        """
        SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
        WHERE d.datname = current_database() AND objid = \(lock) AND NOT granted
        """
      ) == 1
    }
  }

  /// The error of a write whose commit hangs.
  private static func error(of write: Task<Void, any Error>) async throws -> PostgreSQLError {
    do {
      try await write.value
    } catch {
      return try #require(error as? PostgreSQLError)
    }
    throw PostgreSQLError.mismatch(column: 0, found: "success", wanted: "an error")
  }

  @Test("A change of accounts waits for its commit as long as a group does, and does not delay later changes")
  func unit() async throws {
    try await TestDatabase.serve { server, database in
      let store = try server.databaseStore()
      let holder = try Self.hang(database, lock: 4_715)
      let error = try await Self.error(of: Task { try await store.writer.write(Self.insertion) })
      #expect(error.kind == .timedOut && error.message == "the server did not respond within 15 seconds", "\(error)")
      #expect(try await server.signUp().get("/v1/favorites").status == 200)
      // The write has failed for its caller, but the commit may still succeed.
      #expect(try database.count("SELECT count(*) FROM hanging") == 0)
      holder.close()
      try await eventually { try database.count("SELECT count(*) FROM hanging") == 1 }
    }
  }

  @Test("A server stops although a commit hangs, and deletes its row")
  func shutdown() async throws {
    // The server has half a second to delete its row. On a busy machine, that may be too short.
    var isDeleted = false
    for _ in 0..<5 where !isDeleted { isDeleted = try await Self.stopsAndDeletesRow() }
    #expect(isDeleted)
  }

  /// Stops a server while a commit hangs. Returns whether it has deleted its row.
  private static func stopsAndDeletesRow() async throws -> Bool {
    var isDeleted = false
    try await TestDatabase.serve(nodes: 1) {
      $1.limits.drainTime = .milliseconds(100)
    } _: { servers, database in
      let store = try servers[0].databaseStore()
      let holder = try Self.hang(database, lock: 4_716)
      let write = Task { try await store.writer.write(Self.insertion) }
      try await Self.waitUntilItHangs(database, lock: 4_716)
      await servers[0].stop()
      let error = try await Self.error(of: write)
      #expect(error.message == "the wait for the server was canceled, because this program ends", "\(error)")
      isDeleted = try database.count("SELECT count(*) FROM nodes") == 0
      holder.close()
    }
    return isDeleted
  }

  @Test("A store whose waits were canceled refuses work without a wait")
  func canceled() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    store.cancelWaits()
    await #expect(throws: PostgreSQLError.self) { try await store.writer.write { _ = try $0.storeID() } }
    await #expect(throws: PostgreSQLError.self) { try await store.readers.read { _ = try $0.storeID() } }
    await aside { store.close() }
  }
}
