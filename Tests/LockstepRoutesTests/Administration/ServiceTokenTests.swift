import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Service tokens", .timeLimit(.minutes(10)))
struct ServiceTokenTests {
  private static let path = "/v1/admin/tokens"

  @Test("Only the response to its creation has a token's text, and the store has only its hash")
  func secret() async throws {
    try await ServerFixture.administered { users in
      let created = try await users.admin.post(Self.path, #"{"name":"robot","scopes":["write","read","read"]}"#)
      let (id, text) = (created.json["id"]?.stringValue ?? "", created.json["token"]?.stringValue ?? "")
      #expect(created.status == 201)
      #expect(created.field("Location") == "\(Self.path)/\(id)")
      #expect(created.json["scopes"] == ["read", "write"])
      #expect(text.hasPrefix("lsa_"))
      let shown = try await users.admin.get("\(Self.path)/\(id)")
      #expect(shown.json["token"] == nil)
      #expect(shown.tag == created.tag)
      #expect(try await users.admin.get(Self.path).json["items"] == [shown.json])
      #expect(try await users.admin.get("\(Self.path)/\(id.uppercased())").json["id"]?.stringValue == id)
      #expect(try await users.admin.get("\(Self.path)/\(id)", ["If-None-Match: \"\(shown.tag ?? "")\""]).status == 304)
      await users.stop()
      let stored = try await users.storedText()
      #expect(stored.contains("robot") && !stored.contains(text))
    }
  }

  @Test("A token works after a restart, until it is deleted or expires")
  func life() async throws {
    try await ServerFixture.administered { users in
      let robot = try await users.service("robot", "read")
      let short = try await users.admin.post(Self.path, #"{"name":"short","scopes":["read"],"expiresIn":60}"#).json
      let guest = Device(users: users, token: short["token"]?.stringValue ?? "", user: "", session: "")
      try await users.restart()
      #expect(try await robot.get("/v1/admin/users").status == 200)
      #expect(try await guest.get("/v1/admin/users").status == 200)
      users.advance(by: 61)
      #expect(try await guest.get("/v1/admin/users").status == 401)
      #expect(try await users.admin.get(Self.path).json["items"]?.arrayValue?.count == 1)
      // An expired token gives its name free.
      #expect(try await users.admin.post(Self.path, #"{"name":"short","scopes":["read"]}"#).status == 201)
      #expect(try await users.admin.delete("\(Self.path)/\(robot.session)").status == 204)
      #expect(try await robot.get("/v1/admin/users").status == 401)
      #expect(try await users.admin.delete("\(Self.path)/\(robot.session)").problem == ProblemSummary("not-found"))
      try await users.restart()
      #expect(try await robot.get("/v1/admin/users").status == 401)
    }
  }

  @Test("The deletion of a token ends its requests that wait, and its event streams")
  func waiting() async throws {
    try await ServerFixture.administered { users in
      let (ada, robot) = (try await users.signUp(), try await users.service("robot", "read"))
      let since = try await robot.get(ada.administered("/changes?since=now")).json["cursor"]?.stringValue ?? ""
      let poll = try await robot.waiting(ada.administered("/changes?since=\(since)&wait=50"))
      let end = try await robot.get("/v1/admin/journal?since=now").json["cursor"]?.stringValue ?? ""
      let journal = try await robot.waiting("/v1/admin/journal?since=\(end)&wait=50")
      let stream = try await robot.waiting("/v1/admin/journal?since=now", ["Accept: text/event-stream"])
      _ = try await ada.post("/v1/reactors/workingHistory", "{}")
      let screen = try await robot.get("/v1/admin/screens").json["items"]?[0]?["id"]?.stringValue ?? ""
      let tag = try await robot.get("/v1/admin/screens/\(screen)").field("ETag") ?? ""
      let shown = try await robot.waiting("/v1/admin/screens/\(screen)?wait=50", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 1 && users.following == 2 && users.waitingForScreens == 1 }
      #expect(try await users.admin.delete("\(Self.path)/\(robot.session)").status == 204)
      #expect(try await poll.response().status == 401)
      #expect(try await journal.response().status == 401)
      let ended = try await shown.response()
      #expect(ended.status == 401)
      #expect(ended.json["detail"]?.stringValue?.hasPrefix("The service token was deleted or has expired.") == true)
      await eventually { users.waiting == 0 && users.following == 0 }
      stream.close()
    }
  }

  @Test("Requests of service tokens that wait take no seat of a user, and each token has its own limit")
  func seats() async throws {
    func few(_ configuration: inout Configuration) {
      configuration.administratorToken = ServerFixture.administrator
      configuration.waiting.perUser = 2
    }
    try await ServerFixture.run(few) { users in
      let (ada, robot) = (try await users.signUp(), try await users.service("robot", "read"))
      let tag = try await ada.get("/v1/favorites").field("ETag") ?? ""
      var clients: [RawClient] = []
      for _ in 1...5 {
        clients.append(
          try await robot.waiting(ada.administered("/favorites?wait=50"), ["If-None-Match: \(tag)"])
        )
      }
      await eventually { users.waiting == 5 }
      for _ in 1...2 { clients.append(try await ada.waiting("/v1/favorites?wait=50", ["If-None-Match: \(tag)"])) }
      await eventually { users.waiting == 7 }
      #expect(try await ada.get("/v1/favorites?wait=50", ["If-None-Match: \(tag)"]).status == 429)
      for client in clients { client.close() }
      await eventually { users.waiting == 0 }
    }
  }

  @Test("A change of registered defaults by a service token is in the log, with the token's name")
  func registered() async throws {
    try await ServerFixture.administered { users in
      let robot = try await users.service("robot", "admin")
      let path = "/v1/admin/registered/standard"
      for _ in 1...2 {
        #expect(try await robot.put(path, #"{"theme":"dark"}"#, ["Idempotency-Key: k"]).status == 200)
      }
      #expect(try await robot.put(path, "[]").status == 422)
      let again = try await robot.put(path, "{}", ["If-None-Match: *"])
      #expect(again.problem == ProblemSummary("precondition-failed"))
      let lines = users.log.lines.filter { $0.contains("change registered defaults") }
      #expect(lines.count == 1)
      #expect(lines[0].contains("standard") && lines[0].contains("robot"))
      #expect(try await robot.put("/v1/admin/registered/new", #"{"a":1}"#, ["If-None-Match: *"]).status == 200)
    }
  }

  @Test("A repeated creation is 409 with the token's id, and another body with the key is 422")
  func idempotency() async throws {
    try await ServerFixture.administered { users in
      let body = #"{"name":"robot","scopes":["read"]}"#
      let first = try await users.admin.post(Self.path, body, ["Idempotency-Key: k"])
      let second = try await users.admin.post(Self.path, body, ["Idempotency-Key: k"])
      #expect(second.problem == ProblemSummary("conflict"))
      #expect(second.json["id"] == first.json["id"])
      #expect(second.json["token"] == nil)
      let other = try await users.admin.post(Self.path, #"{"name":"x","scopes":["read"]}"#, ["Idempotency-Key: k"])
      #expect(other.problem == ProblemSummary("validation-failed"))
      // The key belongs to the token that sent it.
      let chief = try await users.service("chief", "admin")
      #expect(try await chief.post(Self.path, #"{"name":"y","scopes":["read"]}"#, ["Idempotency-Key: k"]).status == 201)
    }
  }

  @Test("A taken name is 409, and each faulty member is named")
  func faults() async throws {
    try await ServerFixture.administered { users in
      _ = try await users.service("robot", "read")
      for name in ["robot", "Robot", "administrator", "ADMINISTRATOR"] {
        let taken = try await users.admin.post(Self.path, #"{"name":"\#(name)","scopes":["read"]}"#)
        #expect(taken.problem == ProblemSummary("conflict"))
      }
      let wrong = try await users.admin.post(Self.path, #"{"name":"","scopes":["read","root"],"expiresIn":0,"x":1}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/name", "/scopes/1", "/expiresIn", "/x"))
      #expect(try await users.admin.post(Self.path, "{}").problem?.pointers == ["/name", "/scopes"])
      let none = try await users.admin.post(Self.path, #"{"name":"a\nb","scopes":[]}"#)
      #expect(none.problem?.pointers == ["/name", "/scopes"])
      // With invisible characters, and with other spaces, names could look alike.
      for name in [
        "ro\u{200B}bot", "ro\u{202E}bot", "ro\u{AD}bot", "ro\u{A0}bot", "ro\u{2028}bot", "ro\u{2800}bot",
        "robot\u{FE0F}",
      ] {
        let invisible = try await users.admin.post(Self.path, #"{"name":"\#(name)","scopes":["read"]}"#)
        #expect(invisible.problem?.pointers == ["/name"], "\(name.debugDescription)")
      }
    }
  }
}
