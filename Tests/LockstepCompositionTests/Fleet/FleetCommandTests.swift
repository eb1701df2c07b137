import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepTime

@Suite(
  "Admin commands whose server or process ends early",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct FleetCommandTests {
  /// Adds a command to the store, as `lockstep user` does before it waits.
  private static func insert(_ work: AdminCommand.Work, _ device: Device, _ store: StoreDatabase) throws {
    let command = AdminCommand(work, try #require(UserID(device.user)))
    try store.write {
      try AdminCommandRecords(connection: $0).insert(command, id: "o", at: Timestamp(millisecondsSince1970: 0))
    }
  }

  private static func status(_ store: StoreDatabase) throws -> AdminCommandRecords.Status? {
    try store.read { try AdminCommandRecords(connection: $0).status(of: "o") }
  }

  /// Runs the command as a server does that is killed before it marks the command as complete.
  private static func runHalf(_ store: StoreDatabase) throws {
    try store.write { connection in
      let records = AdminCommandRecords(connection: connection)
      let command = try #require(try records.pending("o"))
      let outcome = try command.run(in: connection, at: Timestamp(millisecondsSince1970: 0)).outcome
      try records.setOutcome(outcome, of: "o")
    }
  }

  @Test("A command whose server is killed after the commit is completed by another server, which refuses the user")
  func killedServer() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let second = device.at(servers[1])
      #expect(try await second.get("/v1/favorites").status == 200)
      let store = try StoreDatabase(database.connectionString)
      try Self.insert(.disable, device, store)
      try Self.runHalf(store)
      // The server that has run it may still complete it, for 10 seconds from `at`. This test may
      // take longer.
      try database.execute("UPDATE orders SET at = at + 300000")
      try await servers[1].runOrders()
      #expect(try Self.status(store) == AdminCommandRecords.Status(.done, outcome: .done, isComplete: false))
      try database.execute("UPDATE orders SET at = at - 310000")
      try await servers[1].runOrders()
      #expect(try Self.status(store) == AdminCommandRecords.Status(.done, outcome: .done, isComplete: true))
      for server in servers {
        try await eventually { try await device.at(server).get("/v1/favorites").status == 401 }
      }
    }
  }

  @Test(
    "If `lockstep user` is killed while its command waits, a server runs the command once, and deletes the row later"
  )
  func killedProcess() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let store = try StoreDatabase(database.connectionString)
      try Self.insert(.disable, device, store)
      async let one: Void = servers[0].runOrders()
      async let two: Void = servers[1].runOrders()
      _ = try await (one, two)
      #expect(try Self.status(store) == AdminCommandRecords.Status(.done, outcome: .done, isComplete: true))
      #expect(try database.count("SELECT count(*) FROM orders WHERE user_id IS NOT NULL") == 0)
      for server in servers { #expect(try await device.at(server).get("/v1/favorites").status == 401) }
      // Each later command deletes old rows.
      try database.execute("UPDATE orders SET id = 'old', at = at - 600000")
      try Self.insert(.enable, device, store)
      try await servers[1].runOrders()
      #expect(try database.count("SELECT count(*) FROM orders WHERE id = 'old'") == 0)
      #expect(try await servers[0].logIn().get("/v1/favorites").status == 200)
    }
  }

  @Test("A command of a killed process that no server has run within a minute is deleted, and changes nothing")
  func staleCommand() async throws {
    try await TestDatabase.serve { server, database in
      let device = try await server.signUp()
      try Self.insert(.erase, device, try StoreDatabase(database.connectionString))
      try database.execute("UPDATE orders SET at = at - 61000")
      try await server.runOrders()
      #expect(try database.count("SELECT count(*) FROM orders") == 0)
      #expect(try await device.get("/v1/favorites").status == 200)
    }
  }
}
