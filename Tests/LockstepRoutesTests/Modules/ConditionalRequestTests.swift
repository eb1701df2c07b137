import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Conditional requests", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct ConditionalRequestTests {
  /// All resources of a user's state. Each has some content.
  static let resources = [
    "/v1/favorites", "/v1/favorites?limit=1", "/v1/favorites?prefix=b", "/v1/favorites?after=a", "/v1/favorites/b",
    "/v1/defaults", "/v1/defaults/standard", "/v1/defaults/standard?prefix=t", "/v1/defaults/standard/theme",
    "/v1/defaults/unknown", "/v1/profile",
  ]

  static func fill(_ ada: Device) async throws {
    try await ada.addFavorites("a", "b")
    _ = try await ada.put("/v1/defaults/standard/theme", #""dark""#)
    _ = try await ada.patch("/v1/profile", #"{"position":"Pilot"}"#)
  }

  @Test("A client with the latest representation gets a 304 with the same ETag and no body, on every resource")
  func notModified() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await Self.fill(ada)
      let cursor = try #require(try await ada.get("/v1/profile").cursor)
      for path in Self.resources + Self.resources.map({ $0 + ($0.contains("?") ? "&" : "?") + "at=\(cursor)" }) {
        let full = try await ada.get(path)
        #expect(full.status == 200, "\(path)")
        let tag = try #require(full.field("ETag"))
        for condition in [tag, "W/\(tag)", #""other", \#(tag)"#, #"W/"x",W/\#(tag),"#, "*"] {
          let response = try await ada.get(path, ["If-None-Match: \(condition)"])
          #expect(response.status == 304, "\(path) \(condition)")
          #expect(response.body.isEmpty)
          #expect(response.field("ETag") == tag, "\(path) \(condition)")
          #expect(response.cursor == cursor)
          for name in ["Cache-Control", "Vary"] { #expect(response.field(name) == full.field(name), "\(path)") }
        }
        let twoLines = try await ada.get(path, [#"If-None-Match: "x""#, "If-None-Match: \(tag)"])
        #expect(twoLines.status == 304, "\(path)")
        let changed = try await ada.get(path, [#"If-None-Match: "x", "y""#])
        #expect(changed.status == 200)
        #expect(changed.body == full.body)
      }
    }
  }

  @Test("A read whose If-Match is false gets 412 with the present representation, whatever If-None-Match says")
  func ifMatchOfReads() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await Self.fill(ada)
      let cursor = try #require(try await ada.get("/v1/profile").cursor)
      for path in Self.resources + Self.resources.map({ $0 + ($0.contains("?") ? "&" : "?") + "at=\(cursor)" }) {
        let full = try await ada.get(path)
        let tag = try #require(full.field("ETag"))
        for condition in [#""x""#, "W/\(tag)", #""x", W/\#(tag)"#] {
          for others in [[], ["If-None-Match: \(tag)"], ["If-None-Match: \(tag)", "Prefer: wait=5"]] {
            let refused = try await ada.get(path, ["If-Match: \(condition)"] + others)
            #expect(refused.problem == ProblemSummary("precondition-failed"), "\(path) \(condition) \(others)")
            #expect(refused.json["current"] == full.json, "\(path)")
            #expect(refused.json["cursor"]?.stringValue == full.tag && refused.field("ETag") == tag, "\(path)")
            #expect(refused.cursor == cursor, "\(path)")
          }
          let head = try await ada.ask("HEAD", path, nil, ["If-Match: \(condition)"])
          #expect(head.status == 412 && head.body.isEmpty, "\(path)")
        }
        for condition in [tag, "*", #""x", \#(tag)"#, "\"\(cursor)\""] {
          let read = try await ada.get(path, ["If-Match: \(condition)"])
          #expect(read.status == 200 && read.body == full.body, "\(path) \(condition)")
          let unmodified = try await ada.get(path, ["If-Match: \(condition)", "If-None-Match: \(tag)"])
          #expect(unmodified.status == 304, "\(path) \(condition)")
        }
      }
      // Without the precondition, the response would be an error too.
      #expect(try await ada.get("/v1/favorites/none", ["If-Match: \"x\""]).status == 404)
      #expect(try await ada.get("/v1/favorites?after=none", ["If-Match: \"x\""]).status == 400)
    }
  }

  @Test("Reads of files, documents, registered defaults and screens compare If-Match, too")
  func ifMatchOfOtherReads() async throws {
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
    } _: { users in
      let ada = try await users.signUp()
      try await users.register("standard", #"{"theme":"light"}"#)
      let href = try await ada.open("photoDetail", #"{"arguments":{"photoId":"a"}}"#).href
      let screen = try #require(users.running.withLock { $0?.components.screens.open.first })
      let reads = [
        ("/", ada.token), ("/lockstep.js", ada.token), ("/openapi.json", ada.token), (href, ada.token),
        ("/v1/admin/registered/standard", ServerFixture.administrator),
        ("/v1/admin/screens/\(screen.tag)", ServerFixture.administrator),
      ]
      for (path, token) in reads {
        let full = try await users.ask("GET", path, token: token)
        let tag = try #require(full.field("ETag"), "\(path) \(full.text)")
        for (condition, status) in [(tag, 200), ("*", 200), (#""x""#, 412)] {
          for method in ["GET", "HEAD"] {
            let read = try await users.ask(method, path, ["If-Match: \(condition)"], token: token)
            #expect(read.status == status, "\(method) \(path) \(condition)")
          }
        }
      }
    }
  }

  @Test("In a read of the past, If-Match holds if the resource has not changed between the cursor and the past state")
  func ifMatchOfThePast() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let path = "/v1/favorites/x"
      let before = try #require(try await ada.put(path, #"{"title":"A"}"#).cursor)
      let changed = try #require(try await ada.put(path, #"{"title":"B"}"#).cursor)
      let between = try #require(try await ada.put("/v1/favorites/y", "{}").cursor)
      let at = try #require(try await ada.put("/v1/favorites/z", "{}").cursor)
      let after = try #require(try await ada.put("/v1/favorites/z", #"{"title":"Z"}"#).cursor)
      for (cursor, status) in [(before, 412), (changed, 200), (between, 200), (at, 200), (after, 412)] {
        let read = try await ada.get("\(path)?at=\(at)", ["If-Match: \"\(cursor)\""])
        #expect(read.status == status, "\(cursor)")
      }
    }
  }

  @Test("If-Match is compared also if a response is reused, and a wait begins only if If-Match holds")
  func ifMatchOfRepetitions() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await Self.fill(ada)
      for path in ["/v1/favorites", "/v1/favorites/a"] {
        let tag = try #require(try await ada.get(path).field("ETag"))
        for _ in 1...4 { #expect(try await ada.get(path, ["If-Match: \(tag)"]).status == 200) }
        let waiter = try await ada.waiting(path, ["If-Match: \(tag)", "If-None-Match: \(tag)", "Prefer: wait=30"])
        await eventually { users.waiting == 1 }
        _ = try await ada.patch("/v1/favorites/a", #"{"title":"\#(path)"}"#)
        #expect(try await waiter.response().status == 200, "the resource has changed during the wait")
        for _ in 1...4 { #expect(try await ada.get(path, ["If-Match: \(tag)"]).status == 412) }
      }
    }
  }

  @Test("A condition that is not a list of tags is refused")
  func badConditions() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for field in ["If-None-Match: abc", "If-None-Match: \"abc", "If-None-Match: *, \"a\"", "If-None-Match: w/\"a\""] {
        #expect(try await ada.get("/v1/profile", [field]).problem == ProblemSummary("invalid-parameter"), "\(field)")
      }
      #expect(
        try await ada.put("/v1/favorites/a", "{}", ["If-Match: abc"]).problem == ProblemSummary("invalid-parameter")
      )
    }
  }

  /// One write of each kind to an existing resource.
  private static let writes: [(method: String, path: String, body: String?, type: String?, read: String)] = [
    ("PUT", "/v1/favorites/a", #"{"title":"N"}"#, nil, "/v1/favorites/a"),
    ("PATCH", "/v1/favorites/a", #"{"title":"M"}"#, nil, "/v1/favorites/a"),
    ("PATCH", "/v1/favorites/a", "[]", "application/json-patch+json", "/v1/favorites/a"),
    ("PUT", "/v1/favorites/a/position", #"{"index":1}"#, nil, "/v1/favorites/a"),
    ("DELETE", "/v1/favorites/a", nil, nil, "/v1/favorites/a"),
    ("PATCH", "/v1/defaults/standard", #"{"theme":"blue"}"#, nil, "/v1/defaults/standard"),
    ("PUT", "/v1/defaults/standard/theme", #""red""#, nil, "/v1/defaults/standard/theme"),
    ("DELETE", "/v1/defaults/standard/theme", nil, nil, "/v1/defaults/standard/theme"),
    ("PATCH", "/v1/profile", #"{"position":"Poet"}"#, nil, "/v1/profile"),
  ]

  @Test("A write with a stale ETag gets 412 with the present representation")
  func ifMatch() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for (method, path, body, type, read) in Self.writes {
        try await Self.fill(ada)
        let present = try await ada.get(read)
        let tag = try #require(present.field("ETag"))
        let types = type.map { ["Content-Type: \($0)"] } ?? []
        // The comparison is strong, so a weak tag never matches.
        for condition in [#""x""#, "W/\(tag)", #""x", W/\#(tag)"#, ""] {
          let response = try await ada.ask(method, path, body, types + ["If-Match: \(condition)"])
          #expect(response.status == 412, "\(method) \(path) \(condition)")
          #expect(response.problem == ProblemSummary("precondition-failed"))
          #expect(response.json["current"] == present.json, "\(method) \(path)")
          #expect(response.json["cursor"]?.stringValue == present.tag)
          #expect(response.field("ETag") == tag)
          #expect(response.cursor == present.cursor)
        }
        let other = try await ada.ask(method, path, body, types + ["If-None-Match: \(tag)"])
        #expect(other.status == 412, "\(method) \(path)")
        #expect(try await ada.get(read).body == present.body)

        let done = try await ada.ask(method, path, body, types + [#"If-Match: "x", \#(tag)"#])
        #expect((200..<300).contains(done.status), "\(method) \(path) \(done.text)")
      }
    }
  }

  @Test("The ETag of a write's response equals that of a read, and works for the next write")
  func chain() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      var tag = try #require(try await ada.put("/v1/favorites/a", "{}").field("ETag"))
      for title in ["A", "B", "C"] {
        let response = try await ada.patch("/v1/favorites/a", #"{"title":"\#(title)"}"#, ["If-Match: \(tag)"])
        #expect(response.status == 200)
        tag = try #require(response.field("ETag"))
        let read = try await ada.get("/v1/favorites/a")
        #expect(read.field("ETag") == tag)
        #expect(read.body == response.body)
        #expect(read.cursor == response.cursor)
      }
    }
  }

  @Test("If-Match fails on a missing resource, and * matches any existing one")
  func ifMatchNothing() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for condition in [#""x""#, "*"] {
        for (method, path, body) in [
          ("PUT", "/v1/favorites/a", "{}"), ("DELETE", "/v1/favorites/a", nil), ("PUT", "/v1/defaults/standard/a", "1"),
        ] as [(String, String, String?)] {
          let response = try await ada.ask(method, path, body, ["If-Match: \(condition)"])
          #expect(response.problem == ProblemSummary("precondition-failed"), "\(method) \(path)")
          #expect(response.json["current"] == .null)
          #expect(response.json["cursor"]?.stringValue == response.cursor)
        }
      }
      try await ada.addFavorites("a")
      #expect(try await ada.put("/v1/favorites/a", #"{"title":"A"}"#, ["If-Match: *"]).status == 200)
    }
  }

  @Test("If-None-Match: * creates a resource and never replaces one")
  func createOnly() async throws {
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
    } _: { users in
      let ada = try await users.signUp()
      try await users.register("standard", #"{"theme":"light"}"#)
      // A registered default does not count as the user's value, so the value is new.
      for (path, body) in [("/v1/favorites/a", #"{"title":"1"}"#), ("/v1/defaults/standard/theme", #""1""#)] {
        let made = try await ada.put(path, body, ["If-None-Match: *"])
        #expect(made.status == 201, "\(path)")
        let refused = try await ada.put(path, body.replacing("1", with: "2"), ["If-None-Match: *"])
        #expect(refused.problem == ProblemSummary("precondition-failed"), "\(path)")
        #expect(refused.json["current"] == made.json)
        #expect(try await ada.get(path).body == made.body)
      }
    }
  }

  @Test("Reads of an account are conditional too")
  func accounts() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for path in ["/v1/me", "/v1/sessions", "/v1/sessions/current", "/v1/me/export"] {
        let full = try await ada.get(path)
        let tag = try #require(full.field("ETag"), "\(path)")
        let response = try await ada.get(path, ["If-None-Match: \(tag)"])
        #expect(response.status == 304, "\(path)")
        #expect(response.field("ETag") == tag)
        #expect(try await ada.get(path, ["If-Match: \(tag)"]).status == 200, "\(path)")
        let refused = try await ada.get(path, ["If-Match: \"x\"", "If-None-Match: \(tag)"])
        #expect(refused.problem == ProblemSummary("precondition-failed"), "\(path)")
        #expect(refused.json["cursor"]?.stringValue == full.tag && refused.field("ETag") == tag, "\(path)")
        if path != "/v1/me/export" { #expect(refused.json["current"] == full.json, "\(path)") }
      }
      let tag = try #require(try await ada.get("/v1/sessions").field("ETag"))
      _ = try await users.logIn()
      #expect(try await ada.get("/v1/sessions", ["If-None-Match: \(tag)"]).status == 200)
    }
  }

  @Test("A comma inside a quoted tag does not split a list of tags")
  func commas() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let tag = try #require(try await ada.get("/v1/favorites").field("ETag"))
      let rows: [(fields: [String], status: Int)] = [
        ([#"If-None-Match: "a,b", "c""#], 200), ([#"If-None-Match: "a,b", \#(tag)"#], 304),
        ([#"If-None-Match: ",",\#(tag),W/",""#], 304), ([#"If-None-Match: , \#(tag) ,"#], 304),
        (["If-None-Match: \"x\"", "If-None-Match: W/\(tag)"], 304), (["If-None-Match: *"], 304),
        ([#"If-None-Match: "a\", \#(tag)"#], 304), ([#"If-None-Match: "a,\#(tag.dropFirst())"#], 200),
        ([#"If-None-Match: "a" "b""#], 400), ([#"If-None-Match: "a,b"#], 400), (["If-None-Match: a"], 400),
        ([#"If-None-Match: W/"#], 400), ([#"If-None-Match: "a", *"#], 400), ([#"If-None-Match: ""#], 400),
        ([#"If-None-Match: "a"b"#], 400), ([#"If-None-Match: w/"a""#], 400),
      ]
      for row in rows {
        let response = try await ada.get("/v1/favorites", row.fields)
        #expect(response.status == row.status, "\(row.fields) \(response.text)")
      }
    }
  }
}
