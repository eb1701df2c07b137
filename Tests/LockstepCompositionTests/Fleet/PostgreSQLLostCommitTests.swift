import Glibc
import LockstepJSON
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Commits whose response is lost",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct PostgreSQLLostCommitTests {
  /// Stops each transaction with an entry of the journal in its COMMIT.
  private struct CommitGate: Sendable {
    let database: TestDatabase

    init(_ database: TestDatabase) throws {
      self.database = database
      try database.execute(
        """
        CREATE TABLE commit_gate (is_open boolean);
        CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          WHILE NOT EXISTS (SELECT FROM commit_gate) LOOP PERFORM pg_sleep(0.005); END LOOP;
          RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
        """
      )
    }

    /// Waits until a transaction waits in COMMIT, and loses the response to it. Blocks its thread: PostgreSQL
    /// ends the statement after 10 seconds, and the threads of the tests may be busy for longer.
    func loseResponse(isCommitted: Bool, through proxy: DatabaseProxy) throws {
      let connection = try PostgreSQLConnection(database.connectionString)
      func integer(_ sql: PostgreSQLStatement) throws -> Int { try connection.query(sql).row(0).integer(at: 0) }
      func wait(for sql: PostgreSQLStatement) throws {
        for _ in 0..<6_000 {
          if try integer(sql) > 0 { return }
          usleep(10_000)
        }
        Issue.record("\(sql.sql) stays 0")
      }
      // The wait of the gate, and no other COMMIT of the servers.
      try wait(for: Self.countWaiting)
      if isCommitted {
        proxy.holdResponses()
        try connection.execute("INSERT INTO commit_gate VALUES (true)")
        try wait(for: Self.countEntries)
        proxy.cut()
      } else {
        try wait(for: Self.endWaiting)
        try connection.execute("INSERT INTO commit_gate VALUES (true)")
      }
    }

    private static let isWaiting = """
      FROM pg_stat_activity
      WHERE application_name = current_setting('application_name') AND query = 'COMMIT' AND wait_event = 'PgSleep'
      """
    private static let countWaiting = PostgreSQLStatement("SELECT count(*) \(isWaiting)")
    private static let endWaiting = PostgreSQLStatement("SELECT count(pg_terminate_backend(pid)) \(isWaiting)")
    private static let countEntries = PostgreSQLStatement("SELECT count(*) FROM journal WHERE number = 2")
  }

  /// Expects memory, journal and tables to agree, on all servers.
  private static func expect(
    _ ids: [String],
    entries: Int,
    _ devices: [Device],
    _ database: TestDatabase
  ) async throws {
    for device in devices {
      // A server whose lease has ended responds with 503.
      try await eventually { try await device.get("/v1/favorites").status == 200 }
      // The memory of a server may be a few milliseconds behind.
      try await eventually { try await device.favoriteIDs() == ids }
      let strict = try await device.get("/v1/favorites", ["Prefer: consistency=strict"])
      #expect((strict.json["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue } == ids, "\(strict.text)")
      #expect(try await device.get("/v1/journal").json["entries"]?.arrayValue?.count == entries)
    }
    #expect(try database.count("SELECT count(*) FROM list_elements") == ids.count)
    #expect(try database.count("SELECT count(*) FROM journal") == entries)
    #expect(try database.count("SELECT number FROM heads") == entries)
  }

  @Test(
    "If the response to COMMIT is lost, the client gets 503, and the servers agree with the database",
    arguments: [true, false]
  )
  func lostResponse(isCommitted: Bool) async throws {
    try await DatabaseProxy.run { proxy in
      try await TestDatabase.serve(nodes: 2) {
        if $0 == 0 { $1.store = $1.store.map { proxy.string(for: $0) } }
      } _: { servers, database in
        let device = try await servers[0].signUp()
        let devices = [device, device.at(servers[1])]
        try await device.addFavorites("a")
        try await Self.expect(["a"], entries: 1, devices, database)
        let gate = try CommitGate(database)
        let add = #"{"actions":[{"module":"favorites","type":"add","payload":{"id":"b"}}]}"#
        let key = ["Idempotency-Key: k"]
        async let lost: Void = valueAside { try gate.loseResponse(isCommitted: isCommitted, through: proxy) }
        let refused = try await device.post("/v1/actions", add, key)
        try await lost
        #expect(refused.status == 503 && refused.field("Retry-After") != nil, "\(refused.text)")
        try await Self.expect(isCommitted ? ["a", "b"] : ["a"], entries: isCommitted ? 2 : 1, devices, database)
        // The client cannot know, and sends the write again.
        #expect(try await device.post("/v1/actions", add, key).status == 200)
        try await device.addFavorites("c")
        try await Self.expect(["a", "b", "c"], entries: 3, devices, database)
        try await servers[0].restart()
        try await Self.expect(["a", "b", "c"], entries: 3, devices, database)
      }
    }
  }
}
