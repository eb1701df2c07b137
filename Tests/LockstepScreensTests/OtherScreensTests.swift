import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepAccounts
@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The other screens, over a socket, with a real store", .timeLimit(.minutes(10)))
struct OtherScreensTests {
  @Test("A client that follows the link of the list sees a photo and toggles it, and the list follows")
  func photoDetail() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      _ = try await phone.put("/v1/favorites/a%2Fb", #"{"title":"Aurora","data":{"x":1}}"#)
      let list = try await phone.open("favoritesTop")
      let tapped = try await list.act(#"{"type":"tapFavoritePhoto","payload":{"row":0}}"#)
      let link = try #require(tapped.json["state"]?["route"]?["href"]?.stringValue)
      let detail = try await users.open(link, token: phone.token)
      #expect(
        detail.opened.json["state"] == [
          "photoId": "a/b", "title": "Aurora", "isFavorite": true, "dateAdded": "1994-11-06T08:49:37Z",
        ]
      )
      _ = try await phone.patch("/v1/defaults/standard", #"{"language":"de","timeZone":"Europe/Berlin"}"#)
      try await detail.shows("a German date") { $0["dateAdded"] == "6. November 1994 um 09:49 Uhr" }
      _ = try await detail.act(#"{"type":"toggleFavorite"}"#)
      try await detail.shows(["photoId": "a/b", "title": "Aurora", "isFavorite": false])
      try await list.shows("no favorites") { $0["favoriteIds"] == [] }
      _ = try await detail.act(#"{"type":"toggleFavorite"}"#)
      try await detail.shows("a favorite again") { $0["isFavorite"] == true }
      let item = try await phone.get("/v1/favorites/a%2Fb").json
      #expect(item["title"] == "Aurora" && item["data"] == ["x": 1])
    }
  }

  @Test("The user's own language counts most, then that of the client, and then the registered one")
  func languages() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }) { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let registered = #"{"language":"ja","timeZone":"Europe/Berlin"}"#
      let path = "/v1/admin/registered/standard"
      _ = try await users.ask("PATCH", path, body: Array(registered.utf8), token: ServerFixture.administrator)
      func opened(_ name: String, _ language: String?) async throws -> JSON? {
        let fields = language.map { ["Accept-Language: \($0)"] } ?? []
        return try await phone.post("/v1/reactors/\(name)", "", fields).json["state"]
      }
      func texts(_ language: String?) async throws -> [String?] {
        [
          try await opened("photoDetail?photoId=a", language)?["dateAdded"]?.stringValue,
          try await opened("workingHistory", language)?["validatedCompanyName"]?["message"]?.stringValue,
        ]
      }
      #expect(try await texts(nil) == ["1994年11月6日 9:49", "会社名を入力してください。"])
      #expect(try await texts("sv, fr;q=0.5") == ["6 novembre 1994 à 09:49", "Saisissez l’entreprise."])
      _ = try await phone.patch("/v1/defaults/standard", #"{"language":"de"}"#)
      #expect(try await texts("fr") == ["6. November 1994 um 09:49 Uhr", "Geben Sie die Firma ein."])
    }
  }

  @Test("A toggle above the quota shows an error on the screen and changes nothing")
  func noRoom() async throws {
    try await ServerFixture.run({ $0.favoritesQuota.elements = 1 }) { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let detail = try await phone.open("photoDetail", #"{"arguments":{"photoId":"b"}}"#)
      _ = try await detail.act(#"{"type":"toggleFavorite"}"#)
      let error = "A user may have 1 elements in favorites, not 2."
      try await detail.shows(["photoId": "b", "isFavorite": false, "error": ["id": 1, "message": .string(error)]])
      #expect(try await phone.favoriteIDs() == ["a"])
    }
  }

  @Test("The arguments of a screen are checked, and all faults are reported")
  func arguments() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let cases: [(String, String, ProblemSummary)] = [
        ("/v1/reactors/none", "", ProblemSummary("not-found")),
        ("/v1/reactors/photoDetail", "", ProblemSummary("validation-failed", "/arguments/photoId")),
        ("/v1/reactors/photoDetail?photoId=", "", ProblemSummary("validation-failed", "/arguments/photoId")),
        ("/v1/reactors/photoDetail?photoId=a&photoId=b", "", ProblemSummary("invalid-parameter")),
        (
          "/v1/reactors/photoDetail", #"{"arguments":{"photoId":7}}"#,
          ProblemSummary("validation-failed", "/arguments/photoId")
        ),
        ("/v1/reactors/photoDetail", #"{"arguments":[]}"#, ProblemSummary("validation-failed", "/arguments")),
        ("/v1/reactors/photoDetail", "[]", ProblemSummary("validation-failed", "")),
        ("/v1/reactors/photoDetail", "{", ProblemSummary("malformed-json")),
      ]
      for (target, body, expected) in cases {
        #expect(try await phone.post(target, body).problem == expected, "\(target) \(body)")
      }
      #expect(try await users.post("/v1/reactors/favoritesTop", "").problem == ProblemSummary("unauthorized"))
      #expect(OpenedScreen.count(of: users) == 0)
    }
  }

  @Test("A user can log in with a normalized address, and the password is not in any text")
  func login() async throws {
    try await ServerFixture.run({
      $0.accessLog = true; $0.logLevel = .debug
    }) { users in
      _ = try await users.signUp()
      let screen = try await users.open("/v1/reactors/login", token: nil)
      let typed = try await screen.act(
        """
        [{"type":"setUsername","payload":{"value":" ADA@example.com "}},
         {"type":"setPassword","payload":{"value":"wrong password"}},{"type":"submit"}]
        """
      )
      #expect(typed.json["state"]?["isExecuting"] == true || typed.json["state"]?["error"] != nil)
      try await screen.shows("an error") {
        $0["error"] == ["id": 1, "message": "The e-mail address or the password is wrong."]
      }
      let right = try await screen.act(
        #"[{"type":"setPassword","payload":{"value":"\#(ServerFixture.password)"}},{"type":"submit"}]"#
      )
      try await screen.shows("a session") { $0["session"] != nil }
      let state = try await screen.state()
      #expect(state["route"] == ["id": 1, "name": "favoritesTop", "href": "/v1/reactors/favoritesTop"])
      let token = try #require(state["session"]?["token"]?.stringValue)
      #expect(state["session"]?["user"]?["email"] == "ada@example.com")
      #expect(state["error"] == nil && state["isExecuting"] == false)
      #expect(try await users.ask("GET", "/v1/me", token: token).status == 200)
      let seen = [typed.text, right.text, "\(state)", users.log.text, try await users.ask("GET", "/v1/reactors").text]
      for text in seen { #expect(!text.contains(ServerFixture.password) && !text.contains("wrong password")) }
      let refused = try await screen.act(#"{"type":"setPassword","payload":{"value":["secret word"]}}"#)
      #expect(refused.problem == ProblemSummary("validation-failed", "/payload/value"))
      #expect(!refused.text.contains("secret word"))
    }
  }

  @Test("A short password is checked against the fewest characters that any user's password may have")
  func shortPasswords() async throws {
    try await ServerFixture.run({ $0.accounts.passwordRules.minimumCharacters = 10 }) { users in
      _ = try await users.signUp()
      let type = { (password: String) in
        #"{"type":"setPassword","payload":{"value":"\#(password)"}}"#
      }
      let screen = try await users.open("/v1/reactors/login", token: nil)
      #expect(screen.opened.json["state"]?["passwordValidation"]?["kind"] == "empty")
      #expect(try await screen.act(type("123456789")).json["state"]?["passwordValidation"]?["kind"] == "validating")
      // The check begins after a pause in the server.
      func result() async throws -> JSON? {
        while true {
          let shown = try await screen.state()["passwordValidation"]
          guard shown?["kind"] == "validating" else { return shown }
          users.clock.advance(by: .seconds(1))
        }
      }
      #expect(try await result()?["message"] == "A password has at least 10 characters.")
      #expect(try await screen.act(type("1234567890")).json["state"]?["passwordValidation"]?["kind"] == "ok")
      _ = try await users.rows("UPDATE store SET shortest_password = 1")
      _ = try await screen.act(type("x"))
      #expect(try await result()?["kind"] == "ok")
    }
  }

  @Test("The attempts of a login screen count for the network of the client")
  func attempts() async throws {
    try await ServerFixture.run({
      // In PostgreSQL, the limit counts real time.
      $0.accounts.attempts.perKnownNetwork = RateLimit(requests: 1, seconds: 600, burst: 2)
    }) { users in
      _ = try await users.signUp()
      let screen = try await users.open("/v1/reactors/login", token: nil)
      _ = try await screen.act(
        """
        [{"type":"setUsername","payload":{"value":"ada@example.com"}},
         {"type":"setPassword","payload":{"value":"wrong password"}}]
        """
      )
      for _ in 0..<2 {
        _ = try await screen.act(#"{"type":"submit"}"#)
        try await screen.shows("no execution") { $0["isExecuting"] == false && $0["error"] != nil }
      }
      _ = try await screen.act(#"{"type":"submit"}"#)
      try await screen.shows("too many attempts") { state in
        state["error"]?["message"]?.stringValue?.hasPrefix("Too many attempts.") == true
      }
    }
  }

  @Test("A saved working history goes to the upstream and then to the profile, and waiters are notified")
  func workingHistory() async throws {
    let upstream = RecordingUpstream()
    try await LoopbackServer.run(respond: upstream.respond(to:)) { port in
      let url = try UpstreamURL("http://127.0.0.1:\(port)/profiles")
      try await ServerFixture.run({ $0.profileUpstream = url }) { users in
        let phone = try await users.signUp()
        let screen = try await phone.open("workingHistory")
        #expect(screen.opened.json["state"]?["saveEnabled"] == false)
        #expect(try await screen.act(#"{"type":"save"}"#).problem == ProblemSummary("conflict"))
        let since = try await phone.get("/v1/changes?since=now").json["cursor"]?.stringValue ?? ""
        let waiter = try await phone.waiting("/v1/changes?since=\(since)&wait=50")
        let saving = try await screen.act(Self.saving)
        #expect(saving.json["state"]?["companyName"] == " Aurora ")
        try await screen.shows("saved") { $0["saved"] == 1 && $0["isLoading"] == false }
        let changes = try await waiter.response().json["changesets"]
        #expect(changes?[0]?["set"] == ["companyName": "Aurora Ltd.", "position": "Chief"])
        #expect(upstream.bodies == [["user": .string(phone.user), "companyName": "Aurora", "position": "Chief"]])
        #expect(try await phone.get("/v1/journal").json["entries"]?[0]?["module"] == "profile")
      }
    }
  }

  @Test("If the upstream fails, the screen asks the user and retries if the user says so")
  func failing() async throws {
    let upstream = RecordingUpstream()
    upstream.fail()
    try await LoopbackServer.run(respond: upstream.respond(to:)) { port in
      let url = try UpstreamURL("http://127.0.0.1:\(port)/profiles")
      try await ServerFixture.run({ $0.profileUpstream = url }) { users in
        let phone = try await users.signUp()
        let screen = try await phone.open("workingHistory")
        _ = try await screen.act(Self.saving)
        try await screen.shows("a prompt") { $0["prompt"] != nil }
        let prompt = try #require(try await screen.state()["prompt"])
        #expect(prompt["message"] == "The service that keeps profiles has a problem.")
        #expect(prompt["choices"] == ["retry", "cancel"])
        #expect(prompt["choiceTexts"] == ["retry": "Try again", "cancel": "Cancel"])
        #expect(try await phone.get("/v1/profile").json == [:])
        let other = #"{"type":"answer","payload":{"prompt":2,"choice":"retry"}}"#
        #expect(try await screen.act(other).problem == ProblemSummary("conflict"))
        upstream.recover()
        #expect(prompt["id"] == 1)
        _ = try await screen.act(#"{"type":"answer","payload":{"prompt":1,"choice":"retry"}}"#)
        try await screen.shows("saved") { $0["saved"] == 1 && $0["prompt"] == nil }
        #expect(try await phone.get("/v1/profile").json == ["companyName": "Aurora Ltd.", "position": "Chief"])
        #expect(upstream.keys.count == 2 && Set(upstream.keys).count == 1, "A retry sends the same key.")
        _ = try await screen.act(#"{"type":"save"}"#)
        try await screen.shows("saved again") { $0["saved"] == 2 }
        #expect(Set(upstream.keys).count == 2, "A new save sends a new key.")
      }
    }
  }

  @Test("A login screen gives the new session the name of the device")
  func device() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      let wrong = try await users.post("/v1/reactors/login", #"{"arguments":{"device":" "}}"#)
      #expect(wrong.problem == ProblemSummary("validation-failed", "/arguments/device"))
      let screen = try await users.open("/v1/reactors/login?device=Tablet", token: nil)
      _ = try await screen.act(
        """
        [{"type":"setUsername","payload":{"value":"ada@example.com"}},
         {"type":"setPassword","payload":{"value":"\(ServerFixture.password)"}},{"type":"submit"}]
        """
      )
      try await screen.shows("a session") { $0["session"] != nil }
      let devices = try await phone.get("/v1/sessions").json["items"]?.arrayValue?.map { $0["device"] }
      #expect(devices?.contains("Tablet") == true)
    }
  }

  @Test("Two taps in one step are one state whose route has grown by two; an inactive screen refuses actions")
  func pulses() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp()
      try await phone.addFavorites("a")
      let list = try await phone.open("favoritesTop")
      let tap = #"{"type":"tapFavoritePhoto","payload":{"row":0}}"#
      #expect(try await list.act(tap).json["state"]?["route"]?["id"] == 1)
      #expect(try await list.act("[\(tap),\(tap)]").json["state"]?["route"]?["id"] == 3)
      try await phone.addFavorites("b")
      try await list.shows("another device's favorite") { $0["favoriteIds"] == ["a", "b"] && $0["route"]?["id"] == 3 }
      #expect(try await list.act(#"{"type":"viewWillAppear"}"#).json["state"]?["route"] == nil)
      let tag = try await list.read().tag
      #expect(try await list.act(#"{"type":"viewWillAppear"}"#).tag == tag)
      #expect(try await list.act(tap).json["state"]?["route"]?["id"] == 4)
      let hidden = try await list.act(#"[{"type":"setActive","payload":{"value":false}},{"type":"viewWillAppear"}]"#)
      #expect(hidden.problem == ProblemSummary("conflict") && hidden.json["failed"] == 1)
      #expect(try await list.act(#"{"type":"setActive","payload":{"value":false}}"#).status == 200)
      #expect(try await list.act(tap).problem == ProblemSummary("conflict"))
    }
  }

  @Test("An upstream that cannot be reached is reported as such")
  func unreachable() async throws {
    let closed = try RawServer(listens: false)
    let url = try UpstreamURL("http://127.0.0.1:\(closed.port)/")
    try await ServerFixture.run({ $0.profileUpstream = url }) { users in
      let screen = try await users.signUp().open("workingHistory")
      _ = try await screen.act(Self.saving)
      try await screen.shows("unreachable") { state in
        state["prompt"]?["message"] == "The service that keeps profiles cannot be reached."
      }
    }
  }

  @Test("An upstream that hangs does not delay typing, closing the screen or stopping the server")
  func hanging() async throws {
    let silent = try RawServer()
    let url = try UpstreamURL("http://127.0.0.1:\(silent.port)/")
    try await ServerFixture.run({ $0.profileUpstream = url }) { users in
      let phone = try await users.signUp()
      let (one, other) = (try await phone.open("workingHistory"), try await phone.open("workingHistory"))
      for screen in [one, other] {
        #expect(try await screen.act(Self.saving).json["state"]?["isLoading"] == true)
        let typed = try await screen.act(#"{"type":"setPosition","payload":{"value":"Captain"}}"#)
        #expect(typed.json["state"]?["position"] == "Captain" && typed.json["state"]?["isLoading"] == true)
      }
      #expect(try await one.ask("DELETE", one.href).status == 204)
      #expect(OpenedScreen.count(of: users) == 1)
    }
  }

  @Test("Without an upstream, saving only changes the profile, and another device's screen follows")
  func local() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let (one, other) = (try await phone.open("workingHistory"), try await tablet.open("workingHistory"))
      _ = try await one.act(Self.saving)
      try await one.shows("saved") { $0["saved"] == 1 && $0["companyName"] == "Aurora" }
      try await other.shows("followed") { $0["companyName"] == "Aurora" && $0["saved"] == 0 }
    }
  }

  private static let saving = """
    [{"type":"setCompanyName","payload":{"value":" Aurora "}},{"type":"setPosition","payload":{"value":"Chief"}},
     {"type":"save"}]
    """
}

/// An upstream that records its requests and can be made to fail.
private final class RecordingUpstream: Sendable {
  private let state = Mutex((bodies: [JSON](), keys: [String](), fails: false))

  var keys: [String] { state.withLock { $0.keys } }

  var bodies: [JSON] { state.withLock { $0.bodies } }

  func fail() { state.withLock { $0.fails = true } }
  func recover() { state.withLock { $0.fails = false } }

  @Sendable func respond(to request: Request) async throws -> Response {
    let body = try JSON(parsing: try await request.body.collect())
    let fails = state.withLock { state in
      state.bodies.append(body)
      state.keys.append(request.head["idempotency-key"] ?? "-")
      return state.fails
    }
    if fails { return Response(status: .internalServerError) }
    // Only the company's name is normalised.
    let name = body["companyName"]?.stringValue ?? ""
    return Response(status: .ok, body: .bytes(Array(#"{"companyName":"\#(name) Ltd.","position":7}"#.utf8)))
  }
}
