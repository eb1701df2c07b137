import LockstepJSON
import LockstepMiddleware
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("The lifetime of a screen", .timeLimit(.minutes(10)))
struct ScreenLifeTests {
  /// All requests to a screen.
  private static let requests: [(method: String, behind: String, body: String?)] = [
    ("GET", "", nil), ("HEAD", "", nil), ("POST", "/actions", #"{"type":"viewWillAppear"}"#), ("DELETE", "", nil),
  ]

  @Test("Closed, foreign and invented screens all get the same response", arguments: requests.indices)
  func gone(index: Int) async throws {
    let (method, behind, body) = Self.requests[index]
    try await ServerFixture.run { users in
      let (ada, bob, tablet) = (try await users.signUp(), try await users.signUp("bob"), try await users.logIn())
      let (screen, ended) = (try await ada.open("favoritesTop"), try await ada.open("favoritesTop"))
      _ = try await ended.ask("DELETE", ended.href)
      let other = screen.href.replacing("favoritesTop", with: "workingHistory")
      let made = "/v1/reactors/favoritesTop/"
      var texts: Set<String> = []
      for (device, href) in [
        (ada, ended.href), (bob, screen.href), (tablet, screen.href), (ada, other), (ada, made + "x"),
        (ada, made + String(repeating: "0", count: 32)), (ada, made + "%00"),
      ] {
        let response = try await device.ask(method, href + behind, body)
        #expect(response.status == 404)
        texts.insert(response.text)
      }
      #expect(texts.count == 1)
      #expect(try await users.ask(method, screen.href + behind, body: body.map { Array($0.utf8) }).status == 401)
      #expect(try await screen.read().status == 200)
    }
  }

  @Test("A screen ends a quarter of an hour after its last request of any kind, and not earlier")
  func expires() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let (used, idle) = (try await phone.open("favoritesTop"), try await phone.open("favoritesTop"))
      for _ in 0..<3 {
        users.advance(by: 14 * 60 + 59)
        #expect(try await used.read().status == 200)
      }
      #expect(try await idle.read().status == 404)
      #expect(OpenedScreen.count(of: users) == 1)
      users.advance(by: 15 * 60)
      #expect(try await used.act(#"{"type":"viewWillAppear"}"#).status == 404)
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("A screen does not end while a client listens, and its idle time begins when the client disconnects")
  func listened() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("favoritesTop")
      let listener = try await phone.waiting(screen.href, ["Accept: text/event-stream"])
      await eventually { users.waitingForScreens == 1 }
      for _ in 0..<3 {
        users.advance(by: 20 * 60)
        #expect(try await phone.get("/v1/me").status == 200)
      }
      #expect(try await screen.read().status == 200)
      listener.close()
      await eventually { users.waitingForScreens == 0 }
      users.advance(by: 14 * 60)
      #expect(try await screen.read().status == 200)
    }
  }

  @Test("A screen and its waiters end with its session or its user")
  func session() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let (mine, other) = (try await phone.open("favoritesTop"), try await tablet.open("favoritesTop"))
      let tag = other.opened.field("ETag") ?? ""
      let waiter = try await tablet.waiting(other.href, ["If-None-Match: \(tag)", "Prefer: wait=50"])
      await eventually { users.waitingForScreens == 1 }
      _ = try await phone.delete("/v1/sessions/\(tablet.session)")
      #expect(try await waiter.response().problem == ProblemSummary("unauthorized"))
      #expect(OpenedScreen.count(of: users) == 1)
      #expect(try await mine.read().status == 200)
      _ = try await phone.ask("DELETE", "/v1/me", #"{"password":"\#(ServerFixture.password)"}"#)
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("The screens of a session, all anonymous screens, and all screens together are limited")
  func limits() async throws {
    try await ServerFixture.run({ $0.screens = ScreenLimits(perSession: 2, anonymous: 5, inAll: 7) }) { users in
      let (phone, other) = (try await users.signUp(), try await users.signUp("bob"))
      let third = try await users.signUp("cid")
      let first = try await phone.open("favoritesTop")
      _ = try await phone.open("workingHistory")
      let full = try await phone.post("/v1/reactors/favoritesTop", "")
      #expect(full.problem == ProblemSummary("too-many-requests"))
      #expect(full.field("Retry-After") == "1")
      _ = try await first.ask("DELETE", first.href)
      _ = try await phone.open("favoritesTop")
      for _ in 0..<3 { _ = try await users.open("/v1/reactors/login", token: nil) }
      let anonymous = try await users.post("/v1/reactors/login", "")
      #expect(anonymous.problem == ProblemSummary("too-many-requests"))
      #expect(anonymous.field("Retry-After") == "60")
      for user in [other, third] { _ = try await user.open("favoritesTop") }
      #expect(try await third.post("/v1/reactors/favoritesTop", "").problem == ProblemSummary("overloaded"))
      // Idle screens are found within a minute.
      users.advance(by: 16 * 60)
      _ = try await other.open("favoritesTop")
      #expect(OpenedScreen.count(of: users) == 1)
    }
  }

  @Test("A network gets half of the anonymous screens that others leave, and a user half of all screens")
  func shares() async throws {
    try await ServerFixture.run({
      $0.screens = ScreenLimits(perSession: 100, anonymous: 8, inAll: 20)
      $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap { $0 }
    }) { users in
      func open(from network: String) async throws -> Int {
        try await users.post("/v1/reactors/login", "", ["X-Forwarded-For: \(network)"]).status
      }
      for status in [201, 201, 201, 201, 429, 429] { #expect(try await open(from: "192.0.2.1") == status) }
      for host in ["2001:db8::1", "2001:db8::2"] { #expect(try await open(from: host) == 201) }
      #expect(try await open(from: "2001:db8::3") == 429, "the addresses of a /64 share")
      #expect(try await open(from: "192.0.2.3") == 201)
      // Idle screens of the network make room for its own.
      users.advance(by: 61)
      #expect(try await open(from: "192.0.2.1") == 201)
      #expect(OpenedScreen.count(of: users) == 4)
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      for _ in 1...4 { for device in [phone, tablet] { _ = try await device.open("favoritesTop") } }
      #expect(try await tablet.post("/v1/reactors/favoritesTop", "").problem == ProblemSummary("too-many-requests"))
      _ = try await users.signUp("bob").open("favoritesTop")
    }
  }

  @Test("When all anonymous slots are taken, screens that were idle for a minute are evicted")
  func room() async throws {
    try await ServerFixture.run({ $0.screens = ScreenLimits(perSession: 2, anonymous: 3, inAll: 6) }) { users in
      let (used, unused) = (
        try await users.open("/v1/reactors/login", token: nil), try await users.open("/v1/reactors/login", token: nil)
      )
      #expect(try await users.post("/v1/reactors/login", "").status == 429)
      users.advance(by: 59)
      #expect(try await used.read().status == 200)
      #expect(try await users.post("/v1/reactors/login", "").status == 429)
      users.advance(by: 2)
      #expect(try await users.post("/v1/reactors/login", "").status == 201)
      #expect(try await used.read().status == 200)
      #expect(try await unused.read().status == 404)
    }
  }

  @Test(
    "Unknown members and arguments are refused when a screen is opened",
    arguments: [
      ("login", #"{"foo":1}"#, "/foo"), ("login", #"{"arguments":{"x":1}}"#, "/arguments/x"),
      ("login?photoId=1", "{}", "/arguments/photoId"),
      ("workingHistory", #"{"bogus":2}"#, "/bogus"),
    ]
  )
  func unknown(_ target: String, _ body: String, _ pointer: String) async throws {
    try await ServerFixture.run { users in
      let response = try await users.signUp().post("/v1/reactors/\(target)", body)
      #expect(response.problem == ProblemSummary("validation-failed", pointer))
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("The length of typed text is limited", arguments: ["setUsername", "setPassword"])
  func typed(_ action: String) async throws {
    try await ServerFixture.run { users in
      let screen = try await users.open("/v1/reactors/login", token: nil)
      for (length, status) in [(4_096, 200), (4_097, 422)] {
        let text = String(repeating: "x", count: length)
        #expect(try await screen.act(#"{"type":"\#(action)","payload":{"value":"\#(text)"}}"#).status == status)
      }
    }
  }

  @Test("A step may make any number of writes, and only a few of them wait for the writer at a time")
  func manyWrites() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("photoDetail", #"{"arguments":{"photoId":"a"}}"#)
      let held = try await users.holdWriter()
      defer { held.letGo() }
      let toggles = "[" + Array(repeating: #"{"type":"toggleFavorite"}"#, count: 400).joined(separator: ",") + "]"
      #expect(try await screen.act(toggles).status == 200)
      await eventually { held.waiting == 16 }
      held.letGo()
      await eventually { (try? await users.count("journal")) == 400 }
      #expect(try await screen.state()["error"] == nil)
    }
  }

  /// This many toggles of a photo, as one step.
  private static func toggles(_ count: Int) -> String {
    "[" + Array(repeating: #"{"type":"toggleFavorite"}"#, count: count).joined(separator: ",") + "]"
  }

  @Test("Writes of screens above the limit for all users show an error, and users of the network can still write")
  func tooManyWrites() async throws {
    try await ServerFixture.run { users in
      let (phone, other) = (try await users.signUp(), try await users.signUp("bob"))
      var screens: [OpenedScreen] = []
      for photo in ["a", "b"] {
        screens.append(try await phone.open("photoDetail", #"{"arguments":{"photoId":"\#(photo)"}}"#))
      }
      let bobs = try await other.open("photoDetail", #"{"arguments":{"photoId":"c"}}"#)
      let held = try await users.holdWriter()
      defer { held.letGo() }
      #expect(try await screens[0].act(Self.toggles(500)).status == 200)
      #expect(try await screens[1].act(Self.toggles(400)).status == 200)
      // A quarter of the 2,048 places. Each of the others fires the error once.
      try await eventually {
        var errors = 0
        for screen in screens {
          let id = try await screen.state()["error"]?["id"]?.int64Value
          errors += Int(id ?? 0)
        }
        return errors == 900 - 512
      }
      #expect(try await bobs.act(Self.toggles(1)).status == 200)
      held.letGo()
      await eventually { (try? await users.count("journal")) == 512 + 1 }
      #expect(try await bobs.state()["error"] == nil)
    }
  }

  @Test("A server that stops finishes the writes that screens have queued")
  func writesAtStop() async throws {
    try await ServerFixture.run({ $0.limits.drainTime = .seconds(300) }) { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("photoDetail", #"{"arguments":{"photoId":"a"}}"#)
      let held = try await users.holdWriter()
      defer { held.letGo() }
      let services = try #require(users.running.withLock { $0?.services.users })
      let turns = services.screens.users.turns
      #expect(try await screen.act(Self.toggles(400)).status == 200)
      // The response may come before all writes are queued.
      await eventually { held.waiting == 16 && turns.waitingCount == 400 - 16 }
      let release = Task {
        await eventually { services.storage.readers.shares.isLifted }
        held.letGo()
      }
      try await users.restart()
      await release.value
      #expect(try await users.count("journal") == 400)
    }
  }

  @Test("Its events are states with cursors; a stream continues after the last event, and sends comments in between")
  func events() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("favoritesTop")
      let tag = screen.opened.tag ?? ""
      let listener = try await phone.waiting(screen.href, ["Accept: text/event-stream"])
      try await listener.receive(until: #"data: {"cursor":"\#(tag)","state":{"favoriteIds":[]}}"#)
      users.advance(by: 15.2)
      try await listener.receive(until: ": alive")
      try await phone.addFavorites("a")
      try await listener.receive(until: "event: state\nid: ")
      try await listener.receive(until: #""favoriteIds":["a"]}}"#)
      let now = try await screen.read().tag ?? ""
      let next = try await phone.waiting(screen.href, ["Accept: text/event-stream", "Last-Event-ID: \(now)"])
      await eventually { users.waitingForScreens == 2 }
      try await phone.addFavorites("b")
      try await next.receive(until: "event: state\nid: ")
      #expect(String(decoding: try await next.line(), as: UTF8.self).contains(#""favoriteIds":["a","b"]}}"#))
      _ = try await screen.ask("DELETE", screen.href)
      await eventually { users.waitingForScreens == 0 }
    }
  }

  @Test("If nothing changes during a wait, the response is 304; a client with another state gets a response at once")
  func waiting() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("favoritesTop")
      let tag = screen.opened.field("ETag") ?? ""
      let waiter = try await phone.waiting(screen.href + "?wait=20", ["If-None-Match: \(tag)"])
      await eventually { users.waitingForScreens == 1 }
      users.advance(by: 20.2)
      let told = try await waiter.response()
      #expect(told.status == 304 && told.field("ETag") == tag && told.field("Preference-Applied") == "wait=20")
      #expect(try await screen.read(["If-None-Match: \(tag)"]).status == 304)
      #expect(try await screen.read(["If-None-Match: \"other\"", "Prefer: wait=20"]).status == 200)
      #expect(try await screen.read(["Prefer: wait=20"]).status == 200)
    }
  }

  @Test("If-Match is checked when the action gets its turn: of many clients with the same state, one succeeds")
  func ifMatch() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let screen = try await phone.open("favoritesTop")
      let tag = screen.opened.field("ETag") ?? ""
      let statuses = await withTaskGroup(of: Int?.self) { group in
        for _ in 0..<10 {
          group.addTask {
            try? await screen.act(#"{"type":"tapFavoritePhoto","payload":{"row":0}}"#, ["If-Match: \(tag)"]).status
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.count { $0 == 200 } == 1 && statuses.count { $0 == 412 } == 9)
      let changed = try await screen.act(#"{"type":"viewWillAppear"}"#, ["If-Match: \(tag)"])
      let present = try await screen.read().json
      #expect(present["state"]?["favoriteIds"] == ["a"])
      let closed = try await screen.ask("DELETE", screen.href, nil, ["If-Match: \(tag)"])
      for refused in [changed, closed] {
        #expect(refused.problem == ProblemSummary("precondition-failed"))
        #expect(refused.json["current"] == present && refused.json["cursor"] == present["cursor"])
        #expect(refused.tag == present["cursor"]?.stringValue)
      }
    }
  }

  @Test("Many connections can act on one screen: each action is applied once, one after another")
  func many() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let screen = try await phone.open("workingHistory")
      let texts = (0..<200).map { "\($0)" }
      let responses = await withTaskGroup(of: JSON?.self) { group in
        for worker in 0..<8 {
          group.addTask {
            var last: JSON?
            for text in texts where Int(text).map({ $0 % 8 == worker }) ?? false {
              let response = try? await screen.act(#"{"type":"setPosition","payload":{"value":"\#(text)"}}"#)
              if response?.status != 200 { return nil }
              last = response?.json["state"]?["position"]
            }
            return last
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for response in responses { #expect(texts.contains(response?.stringValue ?? "")) }
      // Each action made a new state. The number after the cursor's dot counts the states.
      let tag = try await screen.read().tag ?? ""
      #expect(tag.hasSuffix(".201"))
    }
  }
}
