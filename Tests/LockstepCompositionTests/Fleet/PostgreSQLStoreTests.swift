import LockstepJSON
import LockstepMigrations
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "A store in PostgreSQL",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct PostgreSQLStoreTests {
  @Test("A user's state, its ETags and its journal are the same after a restart")
  func restart() async throws {
    try await TestDatabase.serve { server, _ in
      let device = try await server.signUp()
      try await device.addFavorites("a", "b", "c", "d")
      try await Self.move("d", to: 0, device)
      _ = try await device.delete("/v1/favorites/b")
      _ = try await device.put("/v1/defaults/standard/%C3%A9", #"{"theme":"dark"}"#)
      _ = try await device.put("/v1/defaults/other/key", "[1,2]")
      _ = try await device.patch("/v1/profile", #"{"companyName":"Ünïcode"}"#)
      let targets = [
        "/v1/favorites", "/v1/defaults/standard", "/v1/defaults/other", "/v1/profile", "/v1/journal", "/v1/changes",
      ]
      var before: [(String, String?)] = []
      for target in targets {
        let response = try await device.get(target)
        before.append((response.text, response.field("etag")))
      }
      try await server.restart()
      for (target, expected) in zip(targets, before) {
        let response = try await device.get(target)
        #expect(response.text == expected.0)
        #expect(response.field("etag") == expected.1)
      }
      #expect(try await device.favoriteIDs() == ["d", "a", "c"])
    }
  }

  private static func move(_ id: String, to index: Int, _ device: Device) async throws {
    let action = #"{"module":"favorites","type":"move","payload":{"id":"\#(id)","index":\#(index)}}"#
    let response = try await device.post("/v1/actions", "{\"actions\":[\(action)]}")
    #expect(response.status == 200)
  }

  @Test("Elements keep their order when there is no more room between two of them")
  func ranks() async throws {
    try await TestDatabase.serve { server, _ in
      let device = try await server.signUp()
      try await device.addFavorites("first", "last")
      var expected = ["first", "last"]
      for number in 0..<50 {
        try await device.addFavorites("x\(number)")
        try await Self.move("x\(number)", to: 1, device)
        expected.insert("x\(number)", at: 1)
      }
      #expect(try await device.favoriteIDs() == expected)
      try await server.restart()
      #expect(try await device.favoriteIDs() == expected)
    }
  }

  @Test("Writes of many users at once are all committed, and no user's journal has a gap")
  func manyUsers() async throws {
    try await TestDatabase.serve { server, database in
      var devices: [Device] = []
      for number in 0..<6 { devices.append(try await server.signUp("user\(number)")) }
      try await withThrowingTaskGroup { group in
        for device in devices {
          for writer in 0..<4 {
            group.addTask {
              for number in 0..<10 {
                let response = try await device.put("/v1/defaults/s/k\(writer)-\(number)", "\(number)")
                #expect(response.status == 200 || response.status == 201)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try database.count("SELECT count(*) FROM journal") == 240)
      #expect(try database.count("SELECT count(*) FROM heads WHERE number = 40") == 6)
      #expect(try database.count("SELECT count(*) FROM (SELECT DISTINCT user_id, number FROM journal) AS n") == 240)
      #expect(try database.count("SELECT count(DISTINCT place) FROM journal") == 240)
      try await server.restart()
      for device in devices {
        #expect(try await device.get("/v1/defaults/s").json["values"]?.objectValue?.count == 40)
      }
    }
  }

  @Test("A write with an idempotency key is applied once, also after a restart")
  func idempotency() async throws {
    try await TestDatabase.serve { server, database in
      let device = try await server.signUp()
      let body = #"{"actions":[{"module":"favorites","type":"add","payload":{"id":"a"}}]}"#
      let first = try await device.post("/v1/actions", body, ["Idempotency-Key: k1"])
      try await server.restart()
      let second = try await device.post("/v1/actions", body, ["Idempotency-Key: k1"])
      #expect(first.status == 200 && second.status == 200)
      #expect(first.text == second.text)
      #expect(try database.count("SELECT count(*) FROM journal") == 1)
      let other = try await device.post("/v1/actions", "{\"actions\":[]}", ["Idempotency-Key: k1"])
      #expect(other.status == 422)
    }
  }

  @Test("An erased user leaves no row in any table, and the address is free again")
  func erasure() async throws {
    try await TestDatabase.serve { server, database in
      let device = try await server.signUp()
      try await device.addFavorites("a", "b")
      _ = try await device.delete("/v1/favorites/a")
      _ = try await device.put("/v1/defaults/s/k", "1", ["Idempotency-Key: k1"])
      let erased = try await device.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#)
      #expect(erased.status == 204)
      for table in [
        "users", "addresses", "heads", "sessions", "tokens", "list_elements", "map_values", "removals", "journal",
        "snapshots", "idempotency_keys",
      ] {
        #expect(try database.count("SELECT count(*) FROM \(table)") == 0, "\(table)")
      }
      #expect(try await device.get("/v1/favorites").status == 401)
      _ = try await server.signUp()
    }
  }

  @Test("After its connections are lost, the server opens new ones, and goes on without a lost write")
  func lostConnections() async throws {
    try await TestDatabase.serve { server, database in
      let device = try await server.signUp()
      try await device.addFavorites("a")
      for id in ["b", "c", "d"] {
        try database.execute(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name')
          """
        )
        #expect(try await device.put("/v1/favorites/\(id)", "{}").status == 201)
      }
      #expect(try await device.favoriteIDs() == ["a", "b", "c", "d"])
    }
  }

  @Test("The database of another program is refused, and nothing in it changes")
  func otherProgram() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    try database.execute("CREATE TABLE migrations (id integer)")
    #expect {
      _ = try DurableStore(postgreSQL: database.connectionString)
    } throws: {
      guard case StoreError.unusableDatabase(_, let what, _) = $0 else { return false }
      return what.contains("another program")
    }
    #expect(try database.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") == 1)
  }

  @Test("A database with a newer schema is refused, and one with the present schema is opened again")
  func schema() throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    store.close()
    let again = try DurableStore(postgreSQL: database.connectionString)
    again.close()
    #expect(store.id == again.id)
    let last = Migration.postgreSQL.count
    #expect(try database.count("SELECT count(*) FROM migrations") == last)
    try database.execute("INSERT INTO migrations VALUES (\(last + 1), 'newer', 'x', 0)")
    #expect(throws: StoreError.self) { try DurableStore(postgreSQL: database.connectionString) }
  }

  @Test("A wrong connection fails with one sentence, and without the password")
  func wrongConnections() throws {
    let server = try #require(TestedStore.anyServer)
    for parameters in ["dbname=missing", "user=missing", "host=/nowhere", "port=1"] {
      #expect {
        _ = try DurableStore(postgreSQL: "\(server) \(parameters) password=secret", patience: .zero)
      } throws: {
        guard case StoreError.postgreSQL = $0 else { return false }
        return !"\($0)".contains("secret")
      }
    }
  }
}
