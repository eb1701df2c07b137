import LockstepJSON
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

/// Statements in a transaction that stays open, as of another program or of a server that hangs.
private final class OpenTransaction {
  private let connection: PostgreSQLConnection

  init(_ database: TestDatabase, _ statements: String) throws {
    connection = try PostgreSQLConnection(database.connectionString)
    try connection.execute("BEGIN; \(statements)")
  }

  func end() throws { try connection.execute("COMMIT") }
}

@Suite(
  "Failovers of the database, and transactions that hang",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(5))
)
struct FailoverTests {
  private static let journal = "/v1/admin/journal"

  private static func serve(nodes: Int = 1, _ body: ([ServerFixture], TestDatabase) async throws -> Void) async throws {
    try await TestDatabase.serve(nodes: nodes) {
      $1.administratorToken = ServerFixture.administrator
    } _: {
      try await body($0, $1)
    }
  }

  private static func read(_ users: ServerFixture, since: String) async throws -> RawResponse {
    try await users.ask("GET", "\(journal)?since=\(since)", token: ServerFixture.administrator)
  }

  /// The cursor of the journal's end, when it includes all entries. Transactions of other tests may hide them
  /// for a moment.
  private static func end(of users: ServerFixture) async throws -> String {
    var last = ""
    try await eventually {
      let read = try await read(users, since: "now")
      let next = read.json["cursor"]?.stringValue ?? ""
      defer { last = next }
      return next == last && !next.isEmpty
    }
    return last
  }

  /// The cursor of the journal's end, when its last entry is about this favorite.
  private static func end(of users: ServerFixture, after favorite: String) async throws -> String {
    var cursor = ""
    try await eventually {
      let read = try await users.ask("GET", journal, token: ServerFixture.administrator)
      cursor = read.json["cursor"]?.stringValue ?? ""
      return ids(read).last == favorite
    }
    return cursor
  }

  private static func ids(_ response: RawResponse) -> [String] {
    (response.json["entries"]?.arrayValue ?? []).map { $0["action"]?["payload"]?["id"]?.stringValue ?? "" }
  }

  /// The response to a write that waits for the locks of its user, while the clock of the server advances. If the
  /// server refuses the write because it has no lease for a moment, sends the write again.
  private static func late(_ device: Device, _ id: String) async throws -> RawResponse {
    let server = device.users
    while true {
      let client = try server.connect()
      let fields = ["Authorization: Bearer \(device.token)", "Content-Length: 2"]
      try await client.send(StubbedServer.request("PUT", "/v1/favorites/\(id)", fields) + "{}")
      await eventually {
        server.time.advance(by: 1)
        return client.hasInput
      }
      let response = try await client.response()
      if !response.isWithoutLease { return response }
    }
  }

  @Test("A write of a user whom another transaction has locked waits and then gets 503, and delays no other user")
  func lockedUser() async throws {
    try await Self.serve { servers, database in
      let (ada, bob) = (try await servers[0].signUp(), try await servers[0].signUp("bob"))
      try await ada.addFavorites("a")
      let number = try #require(UserID(ada.user)).lockNumber
      let hanging = try OpenTransaction(database, "SELECT pg_advisory_xact_lock(\(number))")
      async let one = ada.put("/v1/favorites/b", "{}")
      async let two = bob.put("/v1/favorites/b", "{}")
      #expect(try await two.status == 201)
      async let three = ada.put("/v1/favorites/c", "{}")
      #expect(try await bob.put("/v1/favorites/c", "{}").status == 201)
      // The clock of the server, which postpones the transactions, stands still.
      try hanging.end()
      #expect(try await [one.status, three.status] == [201, 201])
      #expect(Set(try await ada.favoriteIDs()) == ["a", "b", "c"])
      let again = try OpenTransaction(database, "SELECT pg_advisory_xact_lock(\(number))")
      // Sent before the first request of bob, so the event loop of the server reads it first.
      let late = try servers[0].connect()
      let fields = ["Authorization: Bearer \(ada.token)", "Content-Length: 2"]
      try await late.send(StubbedServer.request("PUT", "/v1/favorites/d", fields) + "{}")
      // It is postponed for the first time while one of these is written.
      for number in 0..<20 {
        let written = try await bob.put("/v1/favorites/b\(number)", "{}")
        #expect(written.status == 201)
        servers[0].time.advance(by: 1)
      }
      // The writer may have got it late.
      await eventually {
        servers[0].time.advance(by: 1)
        return late.hasInput
      }
      let refused = try await late.response()
      #expect(refused.status == 503 && refused.field("Retry-After") != nil, "\(refused.text)")
      try again.end()
    }
  }

  @Test("Each time that the locks of a user are not free, the log has a line for the beginning and one for the end")
  func busyUser() async throws {
    try await Self.serve { servers, database in
      let server = servers[0]
      let ada = try await server.signUp()
      let number = try #require(UserID(ada.user)).lockNumber
      try server.logFailuresDespitePauses()
      for episode in 1...2 {
        let hanging = try OpenTransaction(database, "SELECT pg_advisory_xact_lock(\(number))")
        #expect(try await Self.late(ada, "late\(episode)").status == 503)
        try hanging.end()
        #expect(try await ada.put("/v1/favorites/\(episode)", "{}").status == 201)
        #expect(server.log.lines.count { $0.contains("because their locks are not free") } == episode)
        #expect(server.log.lines.count { $0.contains("the locks of all users are free again") } == episode)
        // The log has at most one beginning in ten seconds.
        server.time.advance(by: 10)
      }
    }
  }

  @Test("A declaration in another store of the same database delays no write")
  func otherStore() async throws {
    let other = try TestDatabase()
    defer { other.remove() }
    try await Self.serve { servers, _ in
      let ada = try await servers[0].signUp()
      let lock = "pg_advisory_xact_lock(hashtextextended(current_schema(), \(NamedLock.declared)))"
      let declaration = try OpenTransaction(other, "SELECT \(lock)")
      #expect(try await ada.put("/v1/favorites/a", "{}").status == 201)
      try declaration.end()
    }
  }

  @Test("Users whose rows another program has locked get 503 at once, and delay the writes of others only for a moment")
  func lockedRows() async throws {
    try await Self.serve { servers, database in
      let server = servers[0]
      let bob = try await server.signUp("bob")
      var locked: [Device] = []
      for number in 0..<4 { locked.append(try await server.signUp("locked\(number)")) }
      try server.logFailuresDespitePauses()
      let ids = locked.map { "'\($0.user)'" }.joined(separator: ",")
      let program = try OpenTransaction(database, "SELECT FROM heads WHERE user_id IN (\(ids)) FOR UPDATE")
      for device in locked { #expect(try await device.put("/v1/favorites/a", "{}").status == 503) }
      // From now on, nothing waits for these locks, because the clock of the server stands still.
      for number in 0..<10 {
        #expect(try await bob.put("/v1/favorites/b\(number)", "{}").status == 201)
        for device in locked {
          let refused = try await device.put("/v1/favorites/a", "{}")
          #expect(refused.problem == ProblemSummary("overloaded") && refused.field("Retry-After") != nil)
        }
      }
      // Without a lease, the server is not ready for a moment.
      try await eventually { try await server.ask("GET", "/readyz").status == 200 }
      #expect(server.log.lines.count { $0.contains("another program has locked rows of some users") } == 1)
      #expect(!server.log.text.contains("nothing can be written to the store"))
      try program.end()
      server.time.advance(by: 1)
      for device in locked { #expect(try await device.put("/v1/favorites/a", "{}").status == 201) }
      // The writer logs this after the response.
      await eventually { server.log.text.contains("the rows of all users can be written again") }
    }
  }

  @Test("An entry that an older transaction hides reaches the followers when that transaction ends")
  func hiddenEntry() async throws {
    try await Self.serve { servers, database in
      let (users, ada) = (servers[0], try await servers[0].signUp())
      let end = try await Self.end(of: users)
      let waiting = try await users.admin.waiting("\(Self.journal)?since=\(end)&wait=50") { users.following == 1 }
      let older = try OpenTransaction(database, "SELECT pg_current_xact_id()")
      try await ada.addFavorites("a")
      #expect(Self.ids(try await Self.read(users, since: end)).isEmpty)
      try older.end()
      #expect(Self.ids(try await waiting.response()) == ["a"])
    }
  }

  @Test("After a failover that lost entries, followers of the journal start over, and others go on")
  func lostEntries() async throws {
    try await Self.serve { servers, database in
      let users = servers[0]
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      try await ada.addFavorites("a")
      let kept = try await Self.end(of: users, after: "a")
      try await ada.addFavorites("lost")
      let lost = try await Self.end(of: users, after: "lost")
      let target = "\(Self.journal)?since=\(lost)"
      let parked = try await users.admin.waiting("\(target)&wait=50") { users.following == 1 }
      let stream = try await users.admin.waiting(target, ["Accept: text/event-stream"]) { users.following == 2 }
      // As after the promotion of a standby that lacks the last commit.
      try database.execute(
        """
        DELETE FROM journal WHERE number = 2; DELETE FROM list_elements WHERE id = 'lost';
        UPDATE heads SET (number, era, written) =
          (SELECT number, era, written FROM journal WHERE user_id = heads.user_id AND number = 1)
          WHERE number = 2;
        UPDATE store SET timeline = 'another';
        """
      )
      try database.endConnections()
      try await eventually { try await bob.put("/v1/favorites/b", "{}").status < 300 }
      let answered = try await parked.response()
      #expect(answered.json["reset"] == .bool(true))
      #expect(users.log.text.contains("WARNING a standby of the database was promoted, or a backup was restored"))
      // Bob's entry may come with it or later.
      #expect(Self.ids(answered).first == "a")
      try await stream.receive(until: "0\r\n\r\n")
      // Places after an erasure belong to no entry either.
      _ = try await users.admin.delete(bob.administered())
      try await ada.addFavorites("c")
      let again = try await Self.read(users, since: lost)
      #expect(again.json["reset"] == .bool(true))
      // Transactions of other tests may hide the entry for a moment.
      try await eventually { Self.ids(try await Self.read(users, since: kept)) == ["c"] }
      #expect(try await Self.read(users, since: kept).json["reset"] == .bool(false))
    }
  }

  @Test("After a failover that lost registered defaults, their cursors are reset, and later revisions have another era")
  func lostRegisteredDefaults() async throws {
    try await Self.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let devices = [device, device.at(servers[1])]
      func register(_ theme: Int) async throws {
        let changed = try await servers[0].ask(
          "PATCH",
          "/v1/admin/registered/standard",
          ["Content-Type: application/json"],
          body: Array(#"{"theme":\#(theme)}"#.utf8),
          token: ServerFixture.administrator
        )
        try #require(changed.status == 200, "\(changed.text)")
      }
      func theme(_ device: Device, _ fields: [String] = []) async throws -> Int? {
        try await device.get("/v1/defaults/standard", fields).json["values"]?["theme"]?.intValue
      }
      /// The cursor of a strict read through the second server.
      func cursor() async throws -> Cursor {
        let read = try await devices[1].get("/v1/defaults/standard", ["Prefer: consistency=strict"])
        return try #require(read.cursor.flatMap { Cursor($0) })
      }
      try await register(1)
      let kept = try await cursor()
      try await register(2)
      let lost = try await cursor()
      #expect(try await theme(devices[1]) == 2)
      // As after the promotion of a standby that lacks the last commit.
      try database.execute(
        """
        DELETE FROM registered_defaults WHERE revision = (SELECT max(revision) FROM registered_defaults);
        UPDATE store SET timeline = 'another';
        """
      )
      try database.endConnections()
      for device in devices { try await eventually { try await theme(device) == 1 } }
      func resets(_ cursor: Cursor) async throws -> [JSON?] {
        var resets: [JSON?] = []
        for device in devices { resets.append(try await device.get("/v1/changes?since=\(cursor.text)").json["reset"]) }
        return resets
      }
      #expect(try await resets(lost) == [.bool(true), .bool(true)])
      try await register(3)
      let next = try await cursor()
      for device in devices { #expect(try await theme(device, ["Prefer: consistency=strict"]) == 3) }
      #expect(next.registered.number == lost.registered.number)
      #expect(next.registered.eraNumber != lost.registered.eraNumber)
      #expect(try await resets(lost) == [.bool(true), .bool(true)])
      #expect(try await resets(kept) == [.bool(false), .bool(false)])
    }
  }

  @Test("A session that another server has used for longer is not expired")
  func extendedSession() async throws {
    try await Self.serve(nodes: 2) { servers, _ in
      let device = try await servers[0].signUp()
      #expect(try await device.at(servers[1]).get("/v1/me").status == 200)
      let days = 86_400.0
      servers[0].advance(by: 60 * days)
      #expect(try await device.get("/v1/me").status == 200)
      await servers[0].stop()
      servers[1].advance(by: 100 * days)
      #expect(try await device.at(servers[1]).get("/v1/me").status == 200)
      servers[1].advance(by: 100 * days)
      #expect(try await device.at(servers[1]).get("/v1/me").status == 401)
    }
  }
}
