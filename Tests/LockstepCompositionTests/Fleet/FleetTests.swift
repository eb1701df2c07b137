import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

extension Device {
  /// The same device at another server.
  func at(_ server: ServerFixture) -> Device {
    Device(users: server, token: token, user: user, session: session)
  }
}

@Suite(
  "Several servers on one store",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(5))
)
struct FleetTests {
  private static let administrator = "0123456789abcdef"

  @Test("A write through one server answers a request that waits at another one")
  func waiting() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, _ in
      let first = try await servers[0].signUp()
      let second = first.at(servers[1])
      var cursor = try #require(try await second.get("/v1/changes?since=now").json["cursor"]?.stringValue)
      for number in 0..<10 {
        let target = "/v1/changes?since=\(cursor)&wait=30"
        async let waited = second.get(target)
        try await first.addFavorites("x\(number)")
        let document = try await waited.json
        #expect(document["reset"] == .bool(false))
        #expect(document["changesets"]?[0]?["insertions"]?[0]?["item"]?["id"]?.stringValue == "x\(number)")
        cursor = try #require(document["cursor"]?.stringValue)
      }
    }
  }

  @Test("A request with a cursor gets a state that is at least as new, through any server")
  func cursors() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, _ in
      let device = try await servers[0].signUp()
      var devices = [device, device.at(servers[1])]
      for number in 0..<40 {
        let written = try await devices[0].put("/v1/favorites/x\(number)", "{}")
        let cursor = try #require(written.cursor)
        let reader = devices[1]
        switch number % 3 {
        case 0:
          let ids = try await reader.get("/v1/favorites", ["Cursor: \(cursor)"]).json["items"]?.arrayValue
          #expect(ids?.count == number + 1)
        case 1:
          let changes = try await reader.get("/v1/changes?since=\(cursor)").json
          #expect(changes["reset"] == .bool(false))
          #expect(changes["cursor"]?.stringValue == cursor)
        default:
          let list = try await devices[0].get("/v1/favorites")
          let unchanged = try await reader.get("/v1/favorites", ["If-None-Match: \"\(try #require(list.tag))\""])
          #expect(unchanged.status == 304)
        }
        devices.swapAt(0, 1)
      }
    }
  }

  @Test("A strict read sees what another server has just committed")
  func strictReads() async throws {
    try await TestDatabase.serve(nodes: 3) {
      if $0 == 2 { $1.reads = .strict }
    } _: { servers, _ in
      let device = try await servers[0].signUp()
      let (second, third) = (device.at(servers[1]), device.at(servers[2]))
      for number in 0..<30 {
        try await device.addFavorites("x\(number)")
        async let strict = second.get("/v1/favorites", ["Prefer: consistency=strict"])
        async let always = third.get("/v1/favorites")
        #expect(try await strict.json["count"]?.intValue == number + 1)
        #expect(try await always.json["count"]?.intValue == number + 1)
      }
    }
  }

  @Test("A condition is checked against the latest state, whichever server wrote it")
  func conditions() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, _ in
      let device = try await servers[0].signUp()
      var devices = [device, device.at(servers[1])]
      var tag = try #require(try await devices[0].put("/v1/defaults/s/k", "0").tag)
      for number in 1..<30 {
        devices.swapAt(0, 1)
        let written = try await devices[0].put("/v1/defaults/s/k", "\(number)", ["If-Match: \"\(tag)\""])
        #expect(written.status == 200)
        let refused = try await devices[1].put("/v1/defaults/s/k", "-1", ["If-Match: \"\(tag)\""])
        #expect(refused.status == 412)
        tag = try #require(written.tag)
      }
    }
  }

  @Test("Writes of a user through all servers at once are all kept, and all servers have the same state")
  func sharedUser() async throws {
    try await TestDatabase.serve(nodes: 3) { servers, database in
      let device = try await servers[0].signUp()
      try await withThrowingTaskGroup { group in
        for (index, server) in servers.enumerated() {
          for writer in 0..<3 {
            group.addTask {
              let device = device.at(server)
              for number in 0..<15 {
                let response = try await device.put("/v1/favorites/\(index)-\(writer)-\(number)", "{}")
                #expect(response.status == 201)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try database.count("SELECT number FROM heads") == 135)
      #expect(try database.count("SELECT count(DISTINCT number) FROM journal") == 135)
      // The journal of all users has the entries of each user in order.
      let swapped = """
        SELECT count(*) FROM (SELECT place, lag(place) OVER (ORDER BY number, position) AS before FROM journal) AS j
        WHERE place < before
        """
      #expect(try database.count(swapped) == 0)
      var states: Set<String> = []
      for server in servers {
        states.insert(try await device.at(server).get("/v1/favorites", ["Prefer: consistency=strict"]).text)
      }
      #expect(states.count == 1)
      let ids = try await device.favoriteIDs()
      #expect(Set(ids).count == 135)
      try await servers[1].restart()
      #expect(try await device.at(servers[1]).favoriteIDs() == ids)
    }
  }

  @Test("Groups that wait for each other's users leave the journal of all users in order")
  func journalOrder() async throws {
    try await TestDatabase.serve(nodes: 3) { servers, database in
      var devices: [Device] = []
      for number in 0..<6 { devices.append(try await servers[number % 3].signUp("user\(number)")) }
      try await withThrowingTaskGroup { group in
        for (index, device) in devices.enumerated() {
          for server in servers {
            group.addTask {
              for number in 0..<12 {
                let response = try await device.at(server).put("/v1/defaults/s/k\(number)", "\(index + number)")
                #expect(response.status < 300)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let swapped = """
        SELECT count(*) FROM (
          SELECT place, lag(place) OVER (PARTITION BY user_id ORDER BY number, position) AS before FROM journal
        ) AS j WHERE place < before
        """
      #expect(try database.count(swapped) == 0)
      #expect(try database.count("SELECT count(*) - count(DISTINCT place) FROM journal") == 0)
    }
  }

  @Test("All servers refuse a token when the response to the end of its session has arrived")
  func endedSessions() async throws {
    try await TestDatabase.serve(nodes: 3) { servers, _ in
      let device = try await servers[0].signUp()
      for round in 0..<10 {
        let other = try await servers[round % 3].logIn()
        for server in servers { #expect(try await other.at(server).get("/v1/favorites").status == 200) }
        let ended = try await device.at(servers[(round + 1) % 3]).delete("/v1/sessions/\(other.session)")
        #expect(ended.status == 204)
        for server in servers { #expect(try await other.at(server).get("/v1/favorites").status == 401) }
      }
      // A request that waits elsewhere ends with the session.
      let other = try await servers[1].logIn()
      let tag = try #require(try await other.at(servers[2]).get("/v1/favorites").tag)
      async let waited = other.at(servers[2]).get("/v1/favorites", ["Prefer: wait=50", "If-None-Match: \"\(tag)\""])
      #expect(try await device.delete("/v1/sessions/\(other.session)").status == 204)
      #expect(try await waited.status == 401)
    }
  }

  @Test("A password change, and an erased user, count on all servers at once")
  func endedRights() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let other = try await servers[1].logIn()
      let password = #"{"current":"\#(ServerFixture.password)","new":"another horse"}"#
      #expect(try await device.put("/v1/me/password", password).status == 204)
      #expect(try await other.get("/v1/favorites").status == 401)
      #expect(try await device.at(servers[1]).get("/v1/favorites").status == 200)
      #expect(try await device.at(servers[1]).ask("DELETE", "/v1/me", #"{"password":"another horse"}"#).status == 204)
      #expect(try await device.get("/v1/favorites").status == 401)
      #expect(try database.count("SELECT count(*) FROM heads") == 0)
    }
  }

  @Test("A service token works on all servers when it is created, and on none when it is deleted")
  func serviceTokens() async throws {
    try await TestDatabase.serve(nodes: 2) {
      $1.administratorToken = Self.administrator
    } _: { servers, _ in
      for round in 0..<5 {
        let created = try await servers[0].ask(
          "POST",
          "/v1/admin/tokens",
          body: Array(#"{"name":"job\#(round)","scopes":["read"]}"#.utf8),
          token: Self.administrator
        )
        let token = try #require(created.json["token"]?.stringValue)
        let id = try #require(created.json["id"]?.stringValue)
        #expect(try await servers[1].ask("GET", "/v1/admin/users", token: token).status == 200)
        #expect(try await servers[1].ask("DELETE", "/v1/admin/tokens/\(id)", token: Self.administrator).status == 204)
        #expect(try await servers[0].ask("GET", "/v1/admin/users", token: token).status == 401)
      }
    }
  }

  @Test("A server whose memory still has a service token writes nothing for it once another server has deleted it")
  func deletedServiceToken() async throws {
    try await TestDatabase.serve(nodes: 1) {
      $1.administratorToken = Self.administrator
    } _: { servers, database in
      let server = servers[0]
      let device = try await server.signUp()
      let session = try await server.logIn().session
      let user = "/v1/admin/users/\(device.user)"
      let writes = [
        ("PUT", "\(user)/favorites/a", "{}"),
        ("DELETE", "\(user)/sessions/\(session)", ""), ("PATCH", user, #"{"disabled":true}"#),
        ("POST", "/v1/admin/users", #"{"email":"x@example.com","password":"correct horse"}"#),
        ("POST", "/v1/admin/tokens", #"{"name":"new","scopes":["read"]}"#),
        ("PATCH", "/v1/admin/registered/standard", #"{"theme":1}"#),
        ("PUT", "/v1/admin/collections/notes", #"{"kind":"list"}"#),
        ("PUT", "/v1/admin/webhooks/hook", #"{"url":"https://backend.example.com/hook","events":["user.created"]}"#),
      ]
      for (method, path, body) in writes {
        let created = try await server.ask(
          "POST",
          "/v1/admin/tokens",
          body: Array(#"{"name":"job","scopes":["admin"]}"#.utf8),
          token: Self.administrator
        )
        let token = try #require(created.json["token"]?.stringValue)
        // This has the effect of another server's commit that this server does not know yet.
        try database.execute("DELETE FROM service_tokens")
        let refused = try await server.ask(
          method,
          path,
          ["Content-Type: application/json"],
          body: Array(body.utf8),
          token: token
        )
        #expect(refused.problem == ProblemSummary("unauthorized"), "\(method) \(path): \(refused.text)")
        // From now on, the memory knows.
        #expect(try await server.ask("GET", "/v1/admin/users", token: token).status == 401)
      }
      #expect(try database.count("SELECT count(*) FROM list_elements") == 0)
      #expect(try database.count("SELECT count(*) FROM users WHERE disabled_at IS NULL") == 1)
      #expect(try database.count("SELECT count(*) FROM sessions") == 2)
      for table in ["service_tokens", "registered_defaults", "declared_collections", "webhooks"] {
        #expect(try database.count("SELECT count(*) FROM \(table)") == 0, "\(table)")
      }
      // The administrator token is not in the store.
      let written = try await server.ask(
        "PUT",
        "\(user)/favorites/a",
        body: Array("{}".utf8),
        token: Self.administrator
      )
      #expect(written.status == 201)
    }
  }

  @Test("A write that takes long to decide is kept, although another server changes the user's state meanwhile")
  func longDecision() async throws {
    try await TestDatabase.serve(nodes: 2) {
      $1.administratorToken = Self.administrator
    } _: { servers, _ in
      // Each number takes a thousand steps.
      let minimums = (1...999).map { #"{"minimum":-\#($0)}"# }.joined(separator: ",")
      let declaration = #"{"kind":"list","schema":{"items":{"allOf":[\#(minimums)]}}}"#
      let declared = try await servers[0].ask(
        "PUT",
        "/v1/admin/collections/sheets",
        body: Array(declaration.utf8),
        token: Self.administrator
      )
      #expect(declared.status == 201)
      let device = try await servers[0].signUp()
      let numbers = (0..<30).map(String.init).joined(separator: ",")
      #expect(try await device.put("/v1/sheets/one", #"{"data":[\#(numbers)]}"#).status == 201)
      let held = try await HeldEncoders(servers[0])
      defer { held.gate.open() }
      async let written = device.patch("/v1/sheets/one", #"{"title":"b"}"#)
      await held.hasRequest(of: device)
      #expect(try await device.at(servers[1]).put("/v1/favorites/a", "{}").status == 201)
      try await held.letGo()
      #expect(try await written.status == 200)
      #expect(try await device.get("/v1/sheets/one").json["title"] == "b")
      #expect(try await device.get("/v1/favorites").json["count"] == 1)
    }
  }

  @Test("Registered defaults that one server changes reach a request that waits at another one")
  func registeredDefaults() async throws {
    try await TestDatabase.serve(nodes: 2) {
      $1.administratorToken = Self.administrator
    } _: { servers, _ in
      let device = try await servers[1].signUp()
      for number in 0..<5 {
        let tag = try #require(try await device.get("/v1/defaults/standard").tag)
        async let waited = device.get("/v1/defaults/standard", ["If-None-Match: \"\(tag)\"", "Prefer: wait=30"])
        let changed = try await servers[number % 2].ask(
          "PATCH",
          "/v1/admin/registered/standard",
          ["Content-Type: application/json"],
          body: Array(#"{"theme":\#(number)}"#.utf8),
          token: Self.administrator
        )
        #expect(changed.status == 200)
        #expect(try await waited.json["values"]?["theme"]?.intValue == number)
      }
    }
  }

  @Test("A write with an idempotency key that is sent to two servers at once is applied once")
  func idempotency() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let other = device.at(servers[1])
      for number in 0..<10 {
        let body = #"{"actions":[{"module":"favorites","type":"add","payload":{"id":"x\#(number)"}}]}"#
        async let one = device.post("/v1/actions", body, ["Idempotency-Key: k\(number)"])
        async let two = other.post("/v1/actions", body, ["Idempotency-Key: k\(number)"])
        let (first, second) = try await (one, two)
        #expect(first.status == 200 && second.status == 200)
        #expect(first.text == second.text)
        #expect(try database.count("SELECT number FROM heads") == number + 1)
      }
    }
  }

  @Test("A change of an account with an idempotency key that is sent to two servers at once is made once")
  func accountIdempotency() async throws {
    try await TestDatabase.serve(nodes: 2) {
      $1.administratorToken = Self.administrator
    } _: { servers, database in
      for number in 0..<8 {
        let body = Array(#"{"email":"x\#(number)@example.com","password":"correct horse"}"#.utf8)
        let fields = ["Idempotency-Key: k\(number)"]
        async let one = servers[0].ask("POST", "/v1/admin/users", fields, body: body, token: Self.administrator)
        async let two = servers[1].ask("POST", "/v1/admin/users", fields, body: body, token: Self.administrator)
        let statuses = try await [one.status, two.status]
        #expect(statuses.allSatisfy { $0 == 201 || $0 == 409 } && statuses.contains(201))
        let again = try await servers[1].ask(
          "POST",
          "/v1/admin/users",
          fields,
          body: body,
          token: Self.administrator
        )
        #expect(again.status == 201)
        #expect(try database.count("SELECT count(*) FROM users") == number + 1)
      }
    }
  }

  @Test("A command of the operator is a node while it works, and all servers know of its change when it returns")
  func commands() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      for round in 0..<3 {
        let device = try await servers[round % 2].signUp("user\(round)")
        #expect(try await device.at(servers[(round + 1) % 2]).get("/v1/favorites").status == 200)
        try await servers[0].command(.patch, "/v1/admin/users/\(device.user)", ["disabled": true])
        for server in servers { #expect(try await device.at(server).get("/v1/favorites").status == 401) }
      }
      #expect(try database.count("SELECT count(*) FROM nodes") == 2)
    }
  }

  @Test("Two servers sign one address up once")
  func addresses() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      for number in 0..<5 {
        let body = #"{"email":"x\#(number)@example.com","password":"correct horse"}"#
        async let one = servers[0].post("/v1/users", body)
        async let two = servers[1].post("/v1/users", body)
        let statuses = try await [one.status, two.status]
        #expect(Set(statuses) == [201, 409])
      }
      #expect(try database.count("SELECT count(*) FROM users") == 5)
    }
  }

  @Test("A server that is cut off from the database refuses to read from memory, and catches up later")
  func cutOff() async throws {
    let road = try DatabaseRoad(to: try #require(TestedStore.anyServer))
    try await TestDatabase.serve(nodes: 2) { index, configuration in
      if index == 1 { configuration.store = configuration.store.map { road.string(for: $0) } }
      configuration.longestWait = 3_600
    } _: { servers, database in
      let device = try await servers[0].signUp()
      let second = device.at(servers[1])
      let gone = try await servers[0].logIn()
      try await device.addFavorites("a")
      #expect(try await gone.at(servers[1]).get("/v1/favorites").status == 200)
      let cursor = try #require(try await second.get("/v1/changes?since=now").json["cursor"]?.stringValue)
      let waited = try await second.waiting("/v1/changes?since=\(cursor)&wait=3600") { servers[1].waiting == 1 }
      servers[1].repeatsRefusals.withLock { $0 = false }
      try road.cut(database)
      try await eventually { try await second.get("/v1/favorites").status == 503 }
      let refused = try await second.get("/v1/favorites")
      #expect(refused.problem?.slug == "overloaded")
      #expect(refused.field("Retry-After") != nil)
      #expect(try await servers[1].ask("GET", "/readyz").status == 503)
      #expect(try await servers[1].ask("GET", "/healthz").status == 200)
      // Another server may have declared the collection since.
      #expect(try await second.get("/v1/unknown").status == 503)
      // The other server does not wait for it any longer.
      #expect(try await device.delete("/v1/sessions/\(gone.session)").status == 204)
      try await device.addFavorites("b")
      road.open()
      servers[1].repeatsRefusals.withLock { $0 = true }
      let response = try await waited.response()
      #expect(response.status == 200)
      #expect(response.json["changesets"]?[0]?["insertions"]?[0]?["item"]?["id"]?.stringValue == "b")
      try await eventually { try await second.favoriteIDs() == ["a", "b"] }
      #expect(try await gone.at(servers[1]).get("/v1/favorites").status == 401)
      servers[1].time.advance(by: 2)
      try await eventually { try await servers[1].ask("GET", "/readyz").status == 200 }
    }
  }

  @Test("A history that the database has lost is recognised, and does not come back from memory")
  func lostHistory() async throws {
    try await TestDatabase.serve(nodes: 2) { servers, database in
      let device = try await servers[0].signUp()
      let second = device.at(servers[1])
      try await device.addFavorites("a")
      let kept = try #require(try await second.get("/v1/favorites", ["Prefer: consistency=strict"]).cursor)
      try await device.addFavorites("lost")
      let lost = try await second.get("/v1/favorites", ["Prefer: consistency=strict"])
      #expect(lost.json["count"]?.intValue == 2)
      // As after the promotion of a standby that lacks the last commit.
      try database.execute(
        """
        DELETE FROM journal WHERE number = 2; DELETE FROM list_elements WHERE id = 'lost';
        UPDATE heads SET (number, era, written) =
          (SELECT number, era, written FROM journal WHERE user_id = heads.user_id AND number = 1);
        """
      )
      try database.endConnections()
      try await eventually { try await second.favoriteIDs() == ["a"] }
      try await eventually { try await device.favoriteIDs() == ["a"] }
      let changes = try await second.get("/v1/changes?since=\(try #require(lost.cursor))")
      #expect(changes.json["reset"] == .bool(true), "\(changes.text)")
      let refused = try await second.put(
        "/v1/favorites/lost",
        #"{"title":"again"}"#,
        ["If-Match: \"\(try #require(lost.tag))\""]
      )
      #expect(refused.status == 412, "\(refused.text)")
      try await second.addFavorites("new")
      let since = try await device.get("/v1/changes?since=\(kept)").json
      #expect(since["reset"] == .bool(false))
      #expect(try await device.favoriteIDs() == ["a", "new"])
    }
  }

  @Test("All servers are listed with their leases, and one that stops leaves the list")
  func nodes() async throws {
    try await TestDatabase.serve(nodes: 2) {
      $1.administratorToken = Self.administrator
    } _: { servers, _ in
      func nodes() async throws -> [JSON] {
        try await servers[0].ask("GET", "/v1/admin/nodes", token: Self.administrator).json["items"]?.arrayValue ?? []
      }
      var both: [JSON] = []
      // A server that got no processor time for two seconds is missing for a moment.
      try await eventually {
        both = try await nodes()
        return both.count == 2
      }
      #expect(both.allSatisfy { $0["leaseUntil"]?.stringValue != nil })
      #expect(Set(both.compactMap { $0["id"]?.stringValue }).count == 2)
      await servers[1].stop()
      // A stopped server gives its lease up, unless that takes too long. The first server may be missing for a moment, too.
      try await eventually { try await nodes().count == 1 }
    }
  }
}
