import LockstepJSON
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import Lockstep
@testable import LockstepStore

@Suite(
  "Commits whose response is lost",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct LostCommitTests {
  /// COMMIT of a transaction with an entry of the journal takes until `open` is called.
  private struct CommitGate {
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

    /// The process of the transaction that waits.
    func waitingProcess() async throws -> Int {
      let waiting = """
        SELECT coalesce(max(pid), 0) FROM pg_stat_activity
        WHERE application_name = current_setting('application_name') AND query = 'COMMIT' AND state = 'active'
        """
      var process = 0
      try await eventually {
        process = try database.count(waiting)
        return process > 0
      }
      return process
    }

    func open() throws { try database.execute("INSERT INTO commit_gate VALUES (true)") }
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
        async let written = device.post("/v1/actions", add, key)
        let process = try await gate.waitingProcess()
        if isCommitted {
          proxy.holdResponses()
          try gate.open()
          try await eventually { try database.count("SELECT count(*) FROM journal") == 2 }
          proxy.cut()
        } else {
          try database.execute("SELECT pg_terminate_backend(\(process))")
        }
        let refused = try await written
        #expect(refused.status == 503 && refused.field("Retry-After") != nil, "\(refused.text)")
        if !isCommitted { try gate.open() }
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
