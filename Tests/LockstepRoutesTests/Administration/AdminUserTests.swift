import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The administration of users", .timeLimit(.minutes(10)))
struct AdminUserTests {
  private static let path = "/v1/admin/users"

  @Test("The list has each user with revision, size and last use, and its pages leave none out")
  func listing() async throws {
    try await ServerFixture.administered { users in
      for name in ["ada", "bob", "BEN"] { _ = try await users.signUp(name) }
      let ada = try await users.logIn("ada")
      try await ada.addFavorites("a", "b")
      let all = try await users.admin.get(Self.path).json["items"]?.arrayValue ?? []
      #expect(all.map { $0["email"]?.stringValue } == ["ada@example.com", "bob@example.com", "BEN@example.com"])
      #expect(all.first?["revision"] == 2)
      #expect(all.first?["disabled"] == false)
      #expect((all.first?["bytes"]?.int64Value ?? 0) > 100)
      #expect(all.first?["lastSeenAt"] != nil)
      #expect(all.last?["bytes"] == 0)

      var (found, next): ([String], String?) = ([], "\(Self.path)?limit=1&prefix=B")
      while let path = next {
        let page = try await users.admin.get(path)
        found += (page.json["items"]?.arrayValue ?? []).compactMap { $0["email"]?.stringValue }
        next = page.field("Link").map { String($0.dropFirst().prefix { $0 != ">" }) }
      }
      #expect(found == ["BEN@example.com", "bob@example.com"])
      #expect(try await users.admin.get("\(Self.path)?prefix=c").json["items"] == [])
      #expect(try await users.admin.get("\(Self.path)?after=x").problem == ProblemSummary("invalid-parameter"))
      let unknown = "\(Self.path)?prefix=b&after=01a20945-e032-7752-a596-de703409fc39"
      #expect(try await users.admin.get(unknown).problem == ProblemSummary("invalid-parameter"))
      // The store has the same sizes as memory.
      try await users.restart()
      let again = try await users.admin.get(Self.path).json["items"]?.arrayValue ?? []
      #expect(again.map { $0["bytes"] } == all.map { $0["bytes"] })
      #expect(again.map { $0["revision"] } == all.map { $0["revision"] })
    }
  }

  @Test("An added user can log in although registration is closed, and a retry gets the first response")
  func adding() async throws {
    func closed(_ configuration: inout Configuration) {
      configuration.administratorToken = ServerFixture.administrator
      configuration.accounts.registration = .closed
    }
    try await ServerFixture.run(closed) { users in
      let body = #"{"email":"ada@example.com","password":"\#(ServerFixture.password)"}"#
      let added = try await users.admin.post(Self.path, body, ["Idempotency-Key: k"])
      #expect(added.status == 201, "\(added.text)")
      let again = try await users.admin.post(Self.path, body, ["Idempotency-Key: k"])
      #expect(again.field("Idempotency-Replayed") == "true")
      #expect(again.body == added.body)
      let path = added.field("Location") ?? ""
      #expect(try await users.admin.get(path).json == added.json)
      #expect(try await users.admin.get(path).tag == added.tag)
      let ada = try await users.logIn()
      #expect(try await ada.get("/v1/me").json["id"] == added.json["id"])
      #expect(try await users.admin.post(Self.path, body).problem == ProblemSummary("conflict"))
      let wrong = try await users.admin.post(Self.path, #"{"email":"x","password":"short"}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/email", "/password"))
      // The record of the key has no personal data, because it stays when the user is erased.
      #expect(try await users.admin.delete(path).status == 204)
      let late = try await users.admin.post(Self.path, body, ["Idempotency-Key: k"])
      #expect(late.problem == ProblemSummary("conflict"))
      await users.stop()
      for row in try await users.rows("SELECT body, fields FROM outsider_keys") {
        #expect(!row.joined().contains("ada@"))
      }
    }
  }

  @Test("A disabled user's sessions end, a new password ends them too, and a new address keeps them")
  func changing() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let renamed = try await users.admin.patch(ada.administered(), #"{"email":"Countess@example.com"}"#)
      #expect(renamed.json["email"] == "Countess@example.com")
      #expect(try await ada.get("/v1/me").json["email"] == "Countess@example.com")
      _ = try await users.logIn("countess")
      let tag = renamed.field("ETag") ?? ""

      #expect(try await users.admin.patch(ada.administered(), #"{"password":"another horse"}"#).status == 200)
      #expect(try await ada.get("/v1/me").status == 401)
      let device = try await users.logIn("countess", password: "another horse")
      // The password is not shown, but it changes the tag.
      let stale = try await users.admin.patch(ada.administered(), #"{"disabled":true}"#, ["If-Match: \(tag)"])
      #expect(stale.problem == ProblemSummary("precondition-failed"))
      let current = stale.field("ETag") ?? ""
      let disabled = try await users.admin.patch(ada.administered(), #"{"disabled":true}"#, ["If-Match: \(current)"])
      #expect(disabled.json["disabled"] == true)
      #expect(try await device.get("/v1/me").status == 401)
      let refused = try await users.post(
        "/v1/sessions",
        #"{"email":"countess@example.com","password":"another horse"}"#
      )
      #expect(refused.problem == ProblemSummary("forbidden"))
      // The state of a disabled user can still be read.
      #expect(try await users.admin.get(ada.administered("/favorites")).status == 200)
      #expect(try await users.admin.patch(ada.administered(), #"{"disabled":false}"#).json["disabled"] == false)
      _ = try await users.logIn("countess", password: "another horse")
      #expect(users.log.lines.contains { $0.contains("change user") && $0.contains("administrator") })
    }
  }

  @Test("A refused change leaves everything as it was")
  func refusals() async throws {
    try await ServerFixture.administered { users in
      let (ada, _) = (try await users.signUp(), try await users.signUp("bob"))
      let before = try await users.admin.get(ada.administered()).json
      let taken = #"{"email":"BOB@example.com","password":"another horse","disabled":true}"#
      #expect(try await users.admin.patch(ada.administered(), taken).problem == ProblemSummary("conflict"))
      let wrong = try await users.admin.patch(ada.administered(), #"{"email":"x","disabled":1,"name":"y"}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/disabled", "/email", "/name"))
      let many = try await users.admin.post(Self.path, #"{"email":"x","password":"y","z":1}"#)
      #expect(many.problem == ProblemSummary("validation-failed", "/email", "/password", "/z"))
      let short = try await users.admin.patch(ada.administered(), #"{"email":"x","password":"y"}"#)
      #expect(short.problem == ProblemSummary("validation-failed", "/email", "/password"))
      #expect(try await users.admin.get(ada.administered()).json == before)
      #expect(try await ada.get("/v1/me").status == 200)
      let unknown = "\(Self.path)/01a20945-e032-7752-a596-de703409fc39"
      for path in [unknown, "\(Self.path)/x"] {
        #expect(try await users.admin.patch(path, #"{"disabled":true}"#).problem == ProblemSummary("not-found"))
        #expect(try await users.admin.get(path).problem == ProblemSummary("not-found"))
        #expect(try await users.admin.delete(path).problem == ProblemSummary("not-found"))
        #expect(try await users.admin.get("\(path)/favorites").problem == ProblemSummary("not-found"))
      }
    }
  }

  @Test("An erased user is gone, requests for them that wait are 404, and a retry is 204")
  func erasing() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let tag = try await users.admin.get(ada.administered("/favorites")).field("ETag") ?? ""
      let fields = ["If-None-Match: \(tag)"]
      let waiting = try await users.admin.waiting(ada.administered("/favorites?wait=50"), fields)
      await eventually { users.waiting == 1 }
      let item = try await users.admin.get(ada.administered()).field("ETag") ?? ""
      try await ada.addFavorites("b")
      _ = try await waiting.response()
      let again = try await users.admin.get(ada.administered("/favorites")).field("ETag") ?? ""
      let second = try await users.admin.waiting(ada.administered("/favorites?wait=50"), ["If-None-Match: \(again)"])
      await eventually { users.waiting == 1 }

      // The user's state has changed, so the tag of the item has too.
      let stale = try await users.admin.delete(ada.administered(), ["If-Match: \(item)", "Idempotency-Key: a"])
      #expect(stale.problem == ProblemSummary("precondition-failed"))
      let old = try await users.admin.patch(ada.administered(), "{}", ["If-Match: \(tag)"])
      #expect(old.problem == ProblemSummary("precondition-failed"))
      // A cursor of the user's state is a precondition too.
      let cursor = try await ada.get("/v1/changes?since=now").cursor ?? ""
      let disabled = try await users.admin.patch(
        ada.administered(),
        #"{"disabled":false}"#,
        ["If-Match: \"\(cursor)\""]
      )
      #expect(disabled.status == 200)
      #expect(try await users.admin.delete(ada.administered(), ["Idempotency-Key: k"]).status == 204)
      #expect(try await second.response().status == 404)
      let repeated = try await users.admin.delete(ada.administered(), ["Idempotency-Key: k"])
      #expect(repeated.status == 204)
      #expect(repeated.field("Idempotency-Replayed") == "true")
      #expect(try await ada.get("/v1/me").status == 401)
      #expect(try await users.admin.get(ada.administered()).status == 404)
      await users.stop()
      for row in try await users.rows("SELECT body FROM outsider_keys") {
        #expect(!row.joined().contains("ada@"))
      }
    }
  }

  @Test("Requests for an erased user without sessions end at once")
  func erasedWithoutSessions() async throws {
    try await ServerFixture.administered { users in
      let body = #"{"email":"ada@example.com","password":"\#(ServerFixture.password)"}"#
      let path = try await users.admin.post(Self.path, body).field("Location") ?? ""
      _ = try await users.admin.put("\(path)/favorites/a", "{}")
      let tag = try await users.admin.get("\(path)/favorites").field("ETag") ?? ""
      let poll = try await users.admin.waiting("\(path)/favorites?wait=50", ["If-None-Match: \(tag)"])
      let stream = try await users.admin.waiting("\(path)/changes?since=now", ["Accept: text/event-stream"])
      await eventually { users.waiting == 2 }
      #expect(try await users.admin.delete(path).status == 204)
      #expect(try await poll.response().status == 404)
      await eventually { users.waiting == 0 }
      stream.close()
    }
  }
}
