import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "Every resource can be waited on, and a wait ends only if the resource changes",
  .timeLimit(.minutes(10)),
  .alsoWithDeclaredCollections
)
struct WaitingTests {
  /// Each resource, a change of it, and a change of something else.
  private static let resources: [(target: String, change: (String, String, String), other: (String, String, String))] =
    [
      ("/v1/favorites", ("PUT", "/v1/favorites/new", "{}"), ("PUT", "/v1/defaults/standard/x", "1")),
      ("/v1/favorites/b", ("PUT", "/v1/favorites/b", #"{"title":"B"}"#), ("PUT", "/v1/favorites/z", "{}")),
      // The index is a part of an element.
      (
        "/v1/favorites/b", ("PUT", "/v1/favorites/first", #"{"index":0}"#),
        ("PUT", "/v1/favorites/last", #"{"index":9}"#)
      ),
      ("/v1/favorites?prefix=b", ("DELETE", "/v1/favorites/b", ""), ("DELETE", "/v1/favorites/a", "")),
      (
        "/v1/favorites?limit=1", ("PUT", "/v1/favorites/a", #"{"title":"A"}"#),
        ("PATCH", "/v1/profile", #"{"position":"x"}"#)
      ),
      ("/v1/defaults", ("PUT", "/v1/defaults/other/x", "1"), ("PUT", "/v1/defaults/standard/theme", #""pale""#)),
      ("/v1/defaults/standard", ("DELETE", "/v1/defaults/standard/theme", ""), ("PUT", "/v1/defaults/other/x", "1")),
      (
        "/v1/defaults/standard?prefix=th", ("PUT", "/v1/defaults/standard/then", "1"),
        ("PUT", "/v1/defaults/standard/x", "1")
      ),
      (
        "/v1/defaults/standard/theme", ("PUT", "/v1/defaults/standard/theme", "7"),
        ("PUT", "/v1/defaults/standard/x", "1")
      ),
      ("/v1/profile", ("PATCH", "/v1/profile", #"{"position":"x"}"#), ("PUT", "/v1/favorites/z", "{}")),
    ]

  @Test("A change of the resource ends the wait at once, and other changes do not", arguments: resources.indices)
  func each(index: Int) async throws {
    let (target, change, other) = Self.resources[index]
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a", "b")
      _ = try await phone.put("/v1/defaults/standard/theme", #""dark""#)
      let before = try await phone.get(target)
      let waiter = try await phone.waiting(target, ["If-None-Match: \(before.field("ETag") ?? "")", "Prefer: wait=30"])
      await eventually { users.waiting == 1 }
      _ = try await phone.ask(other.0, other.1, other.2)
      #expect(users.waiting == 1)
      _ = try await phone.ask(change.0, change.1, change.2)
      let told = try await waiter.response()
      #expect(told.status == (try await phone.get(target)).status)
      #expect(told.body == (try await phone.get(target)).body)
      #expect(told.field("Preference-Applied") == "wait=30")
      #expect(told.field("Cache-Control") == "no-store")
      #expect(told.field("ETag") != before.field("ETag"))
    }
  }

  @Test("Without a change, the wait ends with 304 exactly when its time is over")
  func timeOver() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let tag = try await phone.get("/v1/favorites").field("ETag") ?? ""
      let waiter = try await phone.waiting("/v1/favorites?wait=20", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 1 }
      users.advance(by: 19)
      _ = try await phone.get("/v1/me")
      #expect(users.waiting == 1)
      users.advance(by: 1.2)
      let told = try await waiter.response()
      #expect(told.status == 304)
      #expect(told.field("ETag") == tag)
      #expect(told.field("Preference-Applied") == "wait=20")
      #expect(users.waiting == 0)
    }
  }

  @Test("A wait above the server's maximum is shortened, and the response says so")
  func capped() async throws {
    try await ServerFixture.run({ $0.longestWait = 3 }) { users in
      let phone = try await users.signUp()
      let waiter = try await phone.waiting(
        "/v1/profile",
        ["If-None-Match: \(try await phone.get("/v1/profile").field("ETag") ?? "")", "Prefer: respond-async, wait=100"]
      )
      await eventually { users.waiting == 1 }
      users.advance(by: 3.2)
      #expect(try await waiter.response().field("Preference-Applied") == "wait=3")
    }
  }

  @Test("An invalid wait is an error in the query, and is ignored in a preference")
  func malformed() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let tag = try await phone.get("/v1/favorites").field("ETag") ?? ""
      for wait in ["x", "-1", "1.5", ""] {
        let response = try await phone.get("/v1/favorites?wait=\(wait)", ["If-None-Match: \(tag)"])
        #expect(response.status == 400)
      }
      for preference in [
        "wait=x", "wait=0", ";", ",;,", ";wait=5", "=", "wait", "wait=",
        #"foo="a, wait=5", wait=0"#, #"foo="a\", wait=5""#, #"foo="a, wait=5"#, #"foo="a; b", bar;x="y, wait=5""#,
        "=;=", "\"", "a;b=c;;",
      ] {
        let response = try await phone.get("/v1/favorites", ["If-None-Match: \(tag)", "Prefer: \(preference)"])
        #expect(response.status == 304, "\(preference)")
      }
    }
  }

  @Test(
    "A wait of any length is shortened to the default maximum",
    arguments: ["60", "99999999999999999999"]
  )
  func long(seconds: String) async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let tag = try await phone.get("/v1/favorites").field("ETag") ?? ""
      let asked = try await phone.waiting("/v1/favorites?wait=\(seconds)", ["If-None-Match: \(tag)"])
      let preferred = try await phone.waiting("/v1/favorites", ["If-None-Match: \(tag)", "Prefer: wait=\(seconds)"])
      await eventually { users.waiting == 2 }
      users.advance(by: 55.2)
      for waiter in [asked, preferred] {
        let response = try await waiter.response()
        #expect(response.status == 304)
        #expect(response.field("Preference-Applied") == "wait=55")
      }
    }
  }

  @Test("A response that never waits has no Preference-Applied")
  func notWaited() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      for path in ["/v1/changes?since=now&wait=5", "/v1/changes?wait=5", "/v1/journal?since=now&wait=5"] {
        let response = try await phone.get(path)
        #expect(response.status == 200)
        #expect(response.field("Preference-Applied") == nil, "\(path)")
      }
    }
  }

  @Test("A client without a representation or with a stale one gets a response at once")
  func nothingToWaitFor() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      #expect(try await phone.get("/v1/favorites?wait=30").status == 200)
      #expect(try await phone.get("/v1/favorites?wait=30", ["If-None-Match: \"other\""]).status == 200)
      #expect(try await phone.get("/v1/favorites/none?wait=30", ["If-None-Match: \"other\""]).status == 404)
    }
  }

  @Test("A past state can be waited on, and never changes")
  func past() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      _ = try await phone.ask("PUT", "/v1/favorites/a", "{}")
      let list = try await phone.get("/v1/favorites")
      let cursor = list.field("Cursor") ?? ""
      let waiter = try await phone.waiting(
        "/v1/favorites?at=\(cursor)&wait=5",
        ["If-None-Match: \(list.field("ETag") ?? "")"]
      )
      await eventually { users.waiting == 1 }
      _ = try await phone.ask("PUT", "/v1/favorites/b", "{}")
      users.advance(by: 5.2)
      #expect(try await waiter.response().status == 304)
    }
  }

  @Test("Waiters for a past state count towards the limit, and get 401 when their session ends")
  func pastIsLimited() async throws {
    try await ServerFixture.run {
      $0.waiting.perUser = 2
    } _: { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let list = try await phone.get("/v1/favorites")
      let fields = ["If-None-Match: \(list.field("ETag") ?? "")"]
      let path = "/v1/favorites?at=\(list.field("Cursor") ?? "")&wait=50"
      let waiters = [try await phone.waiting(path, fields), try await tablet.waiting(path, fields)]
      await eventually { users.waiting == 2 }
      #expect(try await tablet.get(path, fields).status == 429)
      #expect(try await phone.ask("DELETE", "/v1/sessions/current", "").status == 204)
      #expect(try await waiters[0].response().status == 401)
      await eventually { users.waiting == 1 }
      users.advance(by: 50.2)
      #expect(try await waiters[1].response().status == 304)
    }
  }

  @Test("A session that ends gives its own waiters 401 at once, and no others")
  func revoked() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let tag = try await phone.get("/v1/favorites").field("ETag") ?? ""
      let waiters = [
        try await phone.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"]),
        try await tablet.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"]),
      ]
      await eventually { users.waiting == 2 }
      #expect(try await phone.ask("DELETE", "/v1/sessions/\(tablet.session)").status == 204)
      #expect(try await waiters[1].response().status == 401)
      // The other waiter is woken too. For a moment, it is not counted.
      await eventually { users.waiting == 1 }
      _ = try await phone.ask("PUT", "/v1/favorites/a", "{}")
      #expect(try await waiters[0].response().status == 200)
    }
  }

  @Test("Waiters with the same cursor share a response, but not the fields that differ")
  func shared() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      for round in 1...3 {
        let cursor = try await phone.get("/v1/changes?since=now").field("Cursor") ?? ""
        let path = "/v1/changes?since=\(cursor)"
        var waiters: [RawClient] = []
        for device in [phone, tablet, phone] {
          waiters.append(try await device.waiting("\(path)&wait=30"))
          waiters.append(try await device.waiting("\(path)&wait=20"))
        }
        waiters.append(try await phone.waiting("\(path)&wait=30", ["X-Request-Id: mine"]))
        waiters.append(try await phone.waiting("\(path)&wait=30&collections=favorites"))
        await eventually { users.waiting == 8 }
        #expect(try await phone.ask("PUT", "/v1/defaults/standard/x", "\(round)").status < 300)
        var responses: [RawResponse] = []
        for waiter in waiters[..<7] { responses.append(try await waiter.response()) }
        #expect(Set(responses.map(\.body)).count == 1)
        #expect(
          responses.map { $0.field("Preference-Applied") }
            == ["30", "20", "30", "20", "30", "20", "30"].map { "wait=\($0)" }
        )
        #expect(responses.map { $0.field("X-Request-Id") } == Array(repeating: nil, count: 6) + ["mine"])
        #expect(Set(responses.map { $0.field("Cursor") }).count == 1)
        // The last waiter is woken too. For a moment, it is not counted.
        await eventually { users.waiting == 1 }
        #expect(try await phone.ask("PUT", "/v1/favorites/\(round)", "{}").status < 300)
        let last = try await waiters[7].response()
        #expect(last.body != responses[0].body)
      }
    }
  }

  @Test("An erased user's waiters get 401 at once, and a server that stops responds to all waiters")
  func erasedAndStopped() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      var waiters: [RawClient] = []
      for device in [ada, bob] {
        let tag = try await device.get("/v1/favorites").field("ETag") ?? ""
        waiters.append(try await device.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"]))
      }
      await eventually { users.waiting == 2 }
      #expect(try await ada.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#).status == 204)
      #expect(try await waiters[0].response().status == 401)
      await users.stop()
      #expect(try await waiters[1].response().status == 304)
    }
  }

  @Test("Above the limit of waiters for a user or for all users, a wait gets 429")
  func limits() async throws {
    try await ServerFixture.run({ $0.waiting = .init(perUser: 2, inAll: 3) }) { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      var held: [RawClient] = []
      for device in [ada, ada, bob] {
        let tag = try await device.get("/v1/favorites").field("ETag") ?? ""
        held.append(try await device.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"]))
        let count = held.count
        await eventually { users.waiting == count }
      }
      for device in [ada, bob] {
        let tag = try await device.get("/v1/favorites").field("ETag") ?? ""
        let refused = try await device.get("/v1/favorites?wait=30", ["If-None-Match: \(tag)"])
        #expect(refused.status == 429)
        #expect(refused.field("Retry-After") == "1")
      }
      // A response that is sent at once takes no place.
      for path in ["/v1/changes?wait=30&since=0.0.0", "/v1/favorites?wait=30"] {
        #expect(try await ada.get(path, ["If-None-Match: \"other\""]).status == 200)
      }
      held[0].close()
      await eventually { users.waiting == 2 }
      let tag = try await bob.get("/v1/favorites").field("ETag") ?? ""
      held[0] = try await bob.waiting("/v1/favorites?wait=30", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 3 }
    }
  }

  @Test("Registered defaults wake the waiters that see them", .withoutDeclaredMap)
  func registered() async throws {
    try await ServerFixture.run({ $0.administratorToken = "secret" }) { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      _ = try await bob.ask("PUT", "/v1/defaults/standard/theme", #""own""#)
      var waiters: [RawClient] = []
      for device in [ada, bob] {
        let tag = try await device.get("/v1/defaults/standard").field("ETag") ?? ""
        waiters.append(try await device.waiting("/v1/defaults/standard?wait=30", ["If-None-Match: \(tag)"]))
      }
      await eventually { users.waiting == 2 }
      let admin = ["Authorization: Bearer secret"]
      let path = "/v1/admin/registered/standard"
      #expect(try await users.ask("PATCH", path, admin, body: Array(#"{"theme":"app"}"#.utf8)).status == 200)
      #expect(try await waiters[0].response().json["values"]?["theme"]?.stringValue == "app")
      // Bob has his own value, so his view has not changed. His waiter is woken too, and then waits again.
      await eventually { users.waiting == 1 }
      #expect(try await users.ask("PATCH", path, admin, body: Array(#"{"size":1}"#.utf8)).status == 200)
      #expect(try await waiters[1].response().json["values"]?["size"]?.intValue == 1)
    }
  }
}
