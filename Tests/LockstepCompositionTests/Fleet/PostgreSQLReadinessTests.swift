import LockstepHTTP
import LockstepReactorTesting
import LockstepSQLiteStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepMiddleware
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

extension ServerFixture {
  /// The store in PostgreSQL.
  func databaseStore() throws -> DurableStore {
    try #require(running.withLock { $0 }?.services.store as? DurableStore)
  }

  /// From now on, the log has each failure of the writer and of the feed. Otherwise, a pause of this process in the
  /// last 20 seconds would explain a failure that a test expects.
  func logFailuresDespitePauses() throws {
    let server = try #require(running.withLock { $0 })
    let services = server.services.users
    let health = HealthLog(server.components.logger) { nil }
    services.storage.writer.onHealthChange { health.note($0) }
    services.storage.feed?.onHealthChange { health.note($0) }
  }
}

@Suite(
  "Readiness of a server on PostgreSQL",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct PostgreSQLReadinessTests {
  /// The process of PostgreSQL with the connection for group commits.
  private static func writerProcess(of server: ServerFixture) async throws -> Int {
    let processes = Mutex<[Int?]>([])
    try await server.databaseStore().writer.check { connection in
      let process = try connection.first("SELECT pg_backend_pid()") { try $0[0] as Int }
      processes.withLock { $0.append(process) }
    }
    // The first one is that of units.
    let all = processes.withLock { $0 }
    try #require(Set(all).count == 2)
    return try #require(all[1])
  }

  @Test("A server that cannot commit groups is not ready, logs the reason, and is ready again without a write")
  func refusedWriter() async throws {
    let road = try DatabaseRoad(to: try #require(TestedStore.anyServer))
    try await TestDatabase.serve(nodes: 1) {
      $1.store = $1.store.map { road.string(for: $0) }
    } _: { servers, database in
      let server = servers[0]
      let device = try await server.signUp()
      try await eventually { try await server.ask("GET", "/readyz").status == 200 }
      let process = try await Self.writerProcess(of: server)
      // The other connections of the server stay.
      server.repeatsRefusals.withLock { $0 = false }
      road.close()
      try database.execute("SELECT pg_terminate_backend(\(process))")
      server.time.advance(by: 2)
      let feed = try #require(try server.databaseStore().feed)
      // Otherwise, that would be the reason.
      await eventually { feed.lease.isHeld }
      let refused = try await server.ask("GET", "/readyz")
      #expect(refused.status == 503 && refused.json["notReady"] == ["store"], "\(refused.text)")
      // A server that had no lease for a moment has logged that before.
      let reason = server.log.lines.last { $0.contains("the store cannot be written") }
      #expect(reason?.contains("cannot connect to PostgreSQL") == true, "\(server.log.text)")
      #expect(try await device.put("/v1/favorites/a", "{}").status == 503)
      road.open()
      server.repeatsRefusals.withLock { $0 = true }
      try await eventually {
        // The outcome of a check is kept for a second.
        server.time.advance(by: 2)
        return try await server.ask("GET", "/readyz").status == 200
      }
      #expect(server.log.text.contains("the server is ready again"))
      #expect(try await device.put("/v1/favorites/a", "{}").status == 201)
    }
  }

  @Test("A check of a server whose group commit is stuck times out, and succeeds when the group commit goes on")
  func stuckWriter() async throws {
    try await TestDatabase.serve { server, _ in
      let store = try server.databaseStore()
      let clock = VirtualClock()
      let readiness = Readiness(logger: .silent, clock: clock) {
        // Without a lease, the check would fail at once.
        await eventually { store.feed?.lease.isHeld == true }
        try await store.checkWritable()
      }
      let (isStuck, gate) = (ThreadGate(), ThreadGate())
      let calls = Atomic(0)
      defer { gate.open() }
      let stuck = Task {
        try await store.writer.check { connection in
          // The first call is that of units.
          guard calls.add(1, ordering: .relaxed).newValue == 2 else { return }
          // This test may take longer than the limit of the server's connections.
          try connection.run("SET LOCAL idle_in_transaction_session_timeout = 0")
          isStuck.open()
          gate.pass()
        }
      }
      await isStuck.opened()
      let check = Task { try await readiness.check() }
      await eventually { clock.sleeperCount == 1 }
      // The writer of units is not stuck, so the work that waits after that is the check of the group commit.
      try await store.writer.write { _ in }
      await eventually { store.writer.statistics.waiting == 1 }
      clock.advance(by: Readiness.patience)
      await #expect(throws: Problem.self) { try await check.value }
      gate.open()
      try await stuck.value
      await eventually { (try? await readiness.check()) != nil }
    }
  }
}
