import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Conditional writes to an account and its sessions", .timeLimit(.minutes(10)))
struct AccountPreconditionTests {
  private static let erasure = #"{"password":"\#(ServerFixture.password)"}"#
  private static let change = #"{"current":"\#(ServerFixture.password)","new":"another horse"}"#

  /// Checks that a 412 contains the representation that a `GET` returns.
  private func expectChanged(_ response: RawResponse, _ present: RawResponse, _ what: String) {
    #expect(response.problem == ProblemSummary("precondition-failed"), "\(what)")
    #expect(response.json["current"] == present.json, "\(what)")
    #expect(response.json["cursor"]?.stringValue == present.tag, "\(what)")
    #expect(response.field("ETag") == present.field("ETag"), "\(what)")
  }

  @Test("Erasing an account and changing its password are conditional on the account's tag")
  func account() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let me = try await ada.get("/v1/me")
      let tag = try #require(me.field("ETag"))
      let writes = [("PUT", "/v1/me/password", Self.change), ("DELETE", "/v1/me", Self.erasure)]
      for (method, path, body) in writes {
        for condition in [#"If-Match: "x""#, "If-Match: W/\(tag)", "If-None-Match: *", "If-None-Match: \(tag)"] {
          expectChanged(try await ada.ask(method, path, body, [condition]), me, "\(path) \(condition)")
        }
        #expect(try await ada.ask(method, path, body, ["If-Match: x"]).problem == ProblemSummary("invalid-parameter"))
      }
      #expect(try await ada.get("/v1/me").body == me.body)
      let changed = try await ada.put("/v1/me/password", Self.change, [#"If-Match: "x", \#(tag)"#])
      #expect(changed.status == 204)
      let gzipTag = "\(tag.dropLast())-gzip\""
      let erased = try await ada.ask("DELETE", "/v1/me", #"{"password":"another horse"}"#, ["If-Match: \(gzipTag)"])
      #expect(erased.status == 204)
      #expect(try await ada.get("/v1/me").status == 401)
    }
  }

  @Test("Erasing an account can be conditional on the whole state, by any cursor of its present revision")
  func wholeState() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      func erase(_ cursor: String) async throws -> RawResponse {
        try await ada.ask("DELETE", "/v1/me", Self.erasure, [#"If-Match: "\#(cursor)""#])
      }
      let before = try #require(try await ada.get("/v1/changes").cursor)
      #expect(try await ada.put("/v1/favorites/a", "{}").status == 201)
      let me = try await ada.get("/v1/me")
      expectChanged(try await erase(before), me, "an older cursor")
      let present = try #require(try await ada.get("/v1/changes").cursor)
      expectChanged(try await erase("00000000" + present.dropFirst(8)), me, "a cursor of another store")
      #expect(try await ada.put("/v1/me/password", Self.change, [#"If-Match: "\#(present)""#]).status == 412)
      #expect(try await erase(present).status == 204)
      #expect(try await ada.get("/v1/me").status == 401)
    }
  }

  @Test(
    "Any present account satisfies If-Match: *, and a failed precondition is reported before the password is verified"
  )
  func anyAccount() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/me/password", Self.change, ["If-Match: *"]).status == 204)
      let wrong = try await ada.ask("DELETE", "/v1/me", Self.erasure, [#"If-Match: "x""#])
      #expect(wrong.problem == ProblemSummary("precondition-failed"))
    }
  }

  @Test("A session can be read alone, and its tag does not change when it is used")
  func session() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp(device: "phone")
      let tablet = try await users.logIn(device: "tablet")
      let path = "/v1/sessions/\(tablet.session)"
      let first = try await phone.get(path)
      #expect(first.status == 200 && first.json["device"] == "tablet" && first.json["current"] == false)
      #expect(try await phone.get("/v1/sessions").json["items"]?.arrayValue?.contains(first.json) == true)
      #expect(first.field("Cache-Control") == "private, no-cache" && first.field("Vary") != nil)
      let tag = try #require(first.field("ETag"))

      users.advance(by: 7200)
      let cursor = try #require(try await tablet.get("/v1/favorites").cursor)
      _ = try await tablet.get("/v1/changes?since=\(cursor)")
      let used = try await phone.get(path)
      #expect(used.json["lastSeenAt"] != first.json["lastSeenAt"] && used.json["cursor"] != nil)
      #expect(used.field("ETag") == tag)
      #expect(try await phone.get(path, ["If-None-Match: \(tag)"]).status == 304)

      let own = try await tablet.get("/v1/sessions/current")
      #expect(own.json["id"]?.stringValue == tablet.session && own.json["current"] == true)
      let ben = try await users.signUp("ben")
      for id in [ben.session, "none", "018f0000-0000-7000-8000-000000000000"] {
        #expect(try await phone.get("/v1/sessions/\(id)").problem == ProblemSummary("not-found"), "\(id)")
      }
      #expect(try await phone.get("/v1/sessions/\(phone.session)").json["current"] == true)
    }
  }

  @Test("Ending a session is conditional on the session's tag")
  func sessionEnd() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp(device: "phone")
      let tablet = try await users.logIn(device: "tablet")
      let path = "/v1/sessions/\(tablet.session)"
      let present = try await phone.get(path)
      let tag = try #require(present.field("ETag"))
      for condition in [#"If-Match: "x""#, "If-Match: W/\(tag)", "If-None-Match: *", "If-None-Match: \(tag)"] {
        expectChanged(try await phone.delete(path, [condition]), present, condition)
      }
      #expect(try await tablet.get("/v1/me").status == 200)
      #expect(try await phone.delete(path, ["If-Match: \(tag)"]).status == 204)
      #expect(try await tablet.get("/v1/me").status == 401)
      #expect(try await phone.delete(path, ["If-Match: *"]).problem == ProblemSummary("not-found"))

      let current = try await phone.get("/v1/sessions/current")
      expectChanged(try await phone.delete("/v1/sessions/current", [#"If-Match: "x""#]), current, "current")
      let end = try await phone.delete("/v1/sessions/current", ["If-Match: \(current.field("ETag") ?? "")"])
      #expect(end.status == 204)
    }
  }

  @Test("A failed precondition is the stored response of its Idempotency-Key; that of an erasure has no personal data")
  func replays() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let me = try await ada.get("/v1/me")
      let fields = [#"If-Match: "x""#, "Idempotency-Key: k"]
      let writes = [("PUT", "/v1/me/password", Self.change), ("DELETE", "/v1/me", Self.erasure)]
      for (method, path, body) in writes {
        expectChanged(try await ada.ask(method, path, body, fields), me, path)
        let replay = try await ada.ask(method, path, body, fields)
        #expect(replay.field("Idempotency-Replayed") == "true")
        if method == "PUT" { expectChanged(replay, me, path) }
        #expect(replay.problem == ProblemSummary("precondition-failed"))
        #expect(replay.text.contains("ada@example.com") == (method == "PUT"))
      }
    }
  }
}
