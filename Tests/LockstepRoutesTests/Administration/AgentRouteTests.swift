import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The routes of a user for administrators", .timeLimit(.minutes(10)))
struct AgentRouteTests {
  @Test("Each read has the bytes and the fields that the user gets")
  func reads() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      _ = try await ada.put("/v1/defaults/standard/theme", #""dark""#)
      _ = try await ada.patch("/v1/profile", #"{"companyName":"Analytical","position":"Chief"}"#)
      let cursor = try await ada.get("/v1/favorites").cursor ?? ""
      _ = try await ada.delete("/v1/favorites/b")
      let paths = [
        "/favorites", "/favorites/a", "/favorites?at=\(cursor)", "/favorites?prefix=a", "/favorites/none", "/defaults",
        "/defaults/standard", "/defaults/standard/theme", "/profile", "/changes", "/changes?since=\(cursor)",
        "/changes?since=now", "/journal", "/journal?limit=1", "/sessions/\(ada.session)", "/favorites?x=1",
      ]
      for path in paths {
        let (own, other) = (
          try await ada.get("/v1\(path)"), try await users.admin.get(ada.administered(path))
        )
        #expect(own.status == other.status, "\(path)")
        if path.hasPrefix("/sessions") {
          #expect(own.json["current"] == true)
          #expect(other.json["current"] == false)
        } else {
          #expect(own.body == other.body, "\(path)")
          for name in ["ETag", "Cursor", "Revision", "Cache-Control", "Content-Type", "Vary"] {
            #expect(own.field(name) == other.field(name), "\(path) \(name)")
          }
        }
      }
      #expect(
        try await users.admin.get(ada.administered("/export")).json == ada.get("/v1/me/export").json
      )
      let page = try await users.admin.get(ada.administered("/favorites?limit=1"))
      let next = page.field("Link").map { String($0.dropFirst().prefix { $0 != ">" }) } ?? ""
      #expect(next.hasPrefix(ada.administered("/favorites?")))
      #expect(try await users.admin.get(next).json["items"]?[0]?["id"] == "c")
    }
  }

  @Test("A write is journaled under the token's name, and reaches the user's devices")
  func writes() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let robot = try await users.service("night \\\"job\\\"", "write")
      let since = try await ada.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
      let waiting = try await ada.waiting("/v1/changes?since=\(since)&wait=50")
      await eventually { users.waiting == 1 }
      #expect(try await robot.put(ada.administered("/favorites/a"), "{}").status == 201)
      let changes = try await waiting.response().json
      #expect(changes["changesets"]?[0]?["insertions"]?[0]?["item"]?["id"] == "a")
      #expect(changes["keys"] == [])
      _ = try await users.admin.post(
        ada.administered("/actions"),
        #"{"actions":[{"module":"favorites","type":"clear","payload":{}}]}"#
      )
      _ = try await ada.put("/v1/favorites/b", "{}")
      let entries = try await ada.get("/v1/journal").json["entries"]?.arrayValue ?? []
      #expect(entries.map { $0["by"]?.stringValue } == ["night \"job\"", "administrator", nil])
      #expect(entries.map { $0["session"]?.stringValue } == [nil, nil, ada.session])
      #expect(try await ada.get("/v1/me/export").json["journal"]?[0]?["by"] == "night \"job\"")
      // A dry run is no write.
      let dry = try await users.admin.post(
        ada.administered("/actions?dryRun=true"),
        #"{"actions":[{"module":"favorites","type":"remove","payload":{"id":"b"}}]}"#
      )
      #expect(dry.json["results"]?[0]?["mutations"]?.arrayValue?.count == 1)
      #expect(try await ada.favoriteIDs() == ["b"])
    }
  }

  @Test("An idempotency key belongs to the token, and is not that of the user or of another token")
  func idempotency() async throws {
    try await ServerFixture.administered { users in
      let (ada, robot) = (try await users.signUp(), try await users.service("robot", "write"))
      let key = ["Idempotency-Key: k"]
      #expect(try await ada.put("/v1/favorites/a", "{}", key).status == 201)
      #expect(try await robot.put(ada.administered("/favorites/b"), "{}", key).status == 201)
      #expect(try await users.admin.put(ada.administered("/favorites/c"), "{}", key).status == 201)
      let again = try await robot.put(ada.administered("/favorites/b"), "{}", key)
      #expect(again.status == 201)
      #expect(again.field("Idempotency-Replayed") == "true")
      #expect(again.field("Revision") == "2")
      let other = try await robot.put(ada.administered("/favorites/d"), "{}", key)
      #expect(other.problem == ProblemSummary("validation-failed"))
      #expect(try await ada.favoriteIDs() == ["a", "b", "c"])
    }
  }

  @Test("Preconditions hold for administrators too")
  func preconditions() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let tag = try await users.admin.get(ada.administered("/favorites/a")).field("ETag") ?? ""
      _ = try await ada.put("/v1/favorites/a", #"{"title":"new"}"#)
      let stale = try await users.admin.put(ada.administered("/favorites/a"), "{}", ["If-Match: \(tag)"])
      #expect(stale.problem == ProblemSummary("precondition-failed"))
      #expect(stale.json["current"]?["title"] == "new")
    }
  }

  @Test("An administrator ends a session at once, and `sessions/current` is 404")
  func sessions() async throws {
    try await ServerFixture.administered { users in
      let (ada, operators) = (try await users.signUp(), try await users.service("operators", "users"))
      let tablet = try await users.logIn(device: "tablet")
      #expect(try await users.admin.get(ada.administered("/sessions")).json["items"]?.arrayValue?.count == 2)
      #expect(try await users.admin.get(ada.administered("/sessions/current")).status == 404)
      #expect(try await operators.delete(ada.administered("/sessions/current")).status == 404)
      let path = ada.administered("/sessions/\(tablet.session)")
      #expect(try await operators.delete(path, ["Idempotency-Key: k"]).status == 204)
      #expect(try await operators.delete(path, ["Idempotency-Key: k"]).field("Idempotency-Replayed") == "true")
      #expect(try await tablet.get("/v1/me").status == 401)
      #expect(users.log.lines.contains { $0.contains("end session") && $0.contains(tablet.session) })
      #expect(try await ada.get("/v1/me").status == 200)
    }
  }

  @Test("No other route of the account exists for administrators")
  func otherRoutes() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      for (method, path) in [("GET", "/me"), ("PUT", "/me/password"), ("POST", "/users"), ("GET", "/reactors")] {
        let response = try await users.admin.ask(method, ada.administered(path), method == "GET" ? nil : "{}")
        #expect(response.problem == ProblemSummary("not-found"), "\(method) \(path)")
      }
      #expect(try await users.admin.post(ada.administered("/sessions"), "{}").status == 405)
    }
  }

  @Test("Modules of your own have routes for administrators")
  func ownModules() async throws {
    func administered(_ configuration: inout Configuration) {
      configuration.administratorToken = ServerFixture.administrator
    }
    try await ServerFixture.run(administered, modules: [.notes]) { users in
      let ada = try await users.signUp()
      let own = try await ada.get("/v1/notes")
      #expect(own.status == 200)
      #expect(try await users.admin.get(ada.administered("/notes")).body == own.body)
    }
  }
}
