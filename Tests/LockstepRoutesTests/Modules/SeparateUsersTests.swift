import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Users and their devices", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct SeparateUsersTests {
  @Test("All devices of a user see what one of them writes")
  func devices() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp("ada", device: "phone")
      let tablet = try await users.logIn("ada", device: "tablet")
      let put = try await phone.put("/v1/favorites/a", #"{"title":"A"}"#)
      let seen = try await tablet.get("/v1/favorites/a")
      #expect(seen.body == put.body)
      #expect(seen.cursor == put.cursor)
      // The tablet writes with the tag that it has read. The phone has not read since, so it must
      // merge.
      let tag = try #require(seen.field("ETag"))
      #expect(try await tablet.patch("/v1/favorites/a", #"{"title":"B"}"#, ["If-Match: \(tag)"]).status == 200)
      let late = try await phone.patch("/v1/favorites/a", #"{"title":"C"}"#, ["If-Match: \(tag)"])
      #expect(late.status == 412)
      #expect(late.json["current"]?["title"] == "B")
      let now = try #require(late.field("ETag"))
      #expect(try await phone.patch("/v1/favorites/a", #"{"title":"C"}"#, ["If-Match: \(now)"]).status == 200)
      let sessions = try await users.rows("SELECT DISTINCT session_id FROM journal ORDER BY 1")
      #expect(sessions == [[phone.session], [tablet.session]].sorted { $0[0] < $1[0] })
    }
  }

  @Test("Two devices that write at the same time lose nothing, and each sees its own write at once")
  func concurrent() async throws {
    try await ServerFixture.run { users in
      let devices = [try await users.signUp(), try await users.logIn(), try await users.logIn()]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, device) in devices.enumerated() {
          group.addTask {
            for step in 0..<15 {
              let increment = ActionsRouteTests.action("defaults", "increment", #"{"key":"n","by":1}"#)
              #expect(try await device.post("/v1/actions", ActionsRouteTests.batch([increment])).status == 200)
              let id = "\(number)-\(step)"
              let put = try await device.put("/v1/favorites/\(id)", "{}")
              #expect(put.status == 201)
              #expect(try await device.get("/v1/favorites/\(id)").status == 200)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await devices[0].get("/v1/defaults/standard/n").text == "45")
      #expect(try await devices[1].get("/v1/favorites").json["count"] == 45)
      #expect(
        try await users.rows(
          TestSQL(
            sqlite: "SELECT max(revision >> 20), count(*) FROM journal",
            postgreSQL: "SELECT max(number), count(*) FROM journal"
          )
        ) == [["90", "90"]]
      )
    }
  }

  @Test("No user ever sees data of another user")
  func users() async throws {
    let secret = "only Ada knows"
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp("ada", device: secret), try await users.signUp("bob"))
      _ = try await ada.put("/v1/favorites/a", #"{"title":"\#(secret)"}"#)
      _ = try await ada.put("/v1/defaults/standard/k", #""\#(secret)""#)
      _ = try await ada.put("/v1/defaults/hers/k", #""\#(secret)""#)
      _ = try await ada.patch("/v1/profile", #"{"position":"\#(secret)"}"#)
      let cursor = try #require(try await ada.get("/v1/profile").cursor)
      for path in ["/v1/favorites/a", "/v1/defaults/standard/k"] {
        #expect(try await bob.get(path).status == 404)
        #expect(try await bob.delete(path).status == 404)
        let refused = try await bob.put(path, "{}", ["If-Match: *"])
        #expect(refused.status == 412)
        #expect(!refused.text.contains(secret))
      }
      for path in [
        "/v1/favorites", "/v1/defaults", "/v1/defaults/standard", "/v1/defaults/hers", "/v1/profile", "/v1/sessions",
        "/v1/me", "/v1/me/export",
      ] {
        let response = try await bob.get(path)
        #expect(response.status == 200)
        #expect(!response.text.contains(secret), "\(path)")
        // The text has an at sign, because ids are hexadecimal and some contain "ada".
        #expect(!response.text.contains("ada@"), "\(path)")
        // A cursor gives no access: with Ada's cursor, Bob sees his own past or nothing.
        let past = try await bob.get("\(path)?at=\(cursor)")
        #expect(!past.text.contains(secret), "\(path)")
      }
      // Bob's data under the same names belongs to Bob.
      _ = try await bob.put("/v1/favorites/a", #"{"title":"Bob's"}"#)
      _ = try await bob.put("/v1/defaults/standard/k", "0")
      #expect(try await ada.get("/v1/favorites/a").json["title"]?.stringValue == secret)
      #expect(try await ada.get("/v1/defaults/standard/k").text == #""\#(secret)""#)
      #expect(try await ada.get("/v1/profile").cursor == cursor)
    }
  }

  @Test("A cursor or tag of one user does not work for another, or for a new account with the same address")
  func cursors() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      try await ada.addFavorites("a")
      try await bob.addFavorites("b")
      let seen = try await ada.get("/v1/favorites")
      let (cursor, tag) = (try #require(seen.cursor), try #require(seen.field("ETag")))
      _ = try await ada.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#)
      let anew = try await users.signUp("ada")
      try await anew.addFavorites("c")
      for (device, id) in [(bob, "b"), (anew, "c")] {
        let changes = try await device.get("/v1/changes?since=\(cursor)")
        #expect(changes.json["reset"] == true)
        #expect(try await device.get("/v1/favorites", ["If-None-Match: \(tag)"]).status == 200)
        #expect(try await device.get("/v1/favorites?at=\(cursor)").status == 404)
        let write = try await device.put("/v1/favorites/\(id)", #"{"title":"lost"}"#, ["If-Match: \(tag)"])
        #expect(write.status == 412)
        #expect(try await device.favoriteIDs() == [id])
      }
    }
  }

  @Test("A write that is running when its session ends is applied before the end or not at all")
  func endedMeanwhile() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      _ = try await phone.get("/v1/favorites")
      _ = try await tablet.get("/v1/favorites")
      let held = try await users.holdWriter()
      defer { held.letGo() }
      async let end = phone.delete("/v1/sessions/\(tablet.session)")
      await eventually { held.waiting == 1 }
      // In SQLite, the write is in the same transaction as the end of the session, and after it. The end
      // is not in memory yet.
      async let write = tablet.put("/v1/favorites/a", "{}")
      await eventually { held.waiting == 2 }
      held.letGo()
      #expect(try await end.status == 204)
      let isApplied = try await write.status == 201
      #expect(try await isApplied ? !TestedStore.isSQLite : write.status == 401)
      #expect(try await phone.favoriteIDs() == (isApplied ? ["a"] : []))
    }
  }

  @Test("The last cursor of a device is known after a restart, however soon that came")
  func lastCursor() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      try await phone.addFavorites("a")
      let cursor = try #require(try await tablet.get("/v1/favorites").cursor)
      _ = try await tablet.get("/v1/changes?since=\(cursor)")
      try await users.restart()
      let sessions = try await phone.get("/v1/sessions").json["items"]?.arrayValue ?? []
      #expect(sessions.first { $0["id"] == .string(tablet.session) }?["cursor"] == .string(cursor))
    }
  }
}
