import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Past states", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct PastStateTests {
  @Test("Every resource can be read as of every cursor, also after a restart")
  func everything() async throws {
    let paths = ConditionalRequestTests.resources
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      var moments: [(cursor: String, responses: [String: RawResponse])] = []
      func keep() async throws {
        var responses: [String: RawResponse] = [:]
        for path in paths { responses[path] = try await ada.get(path) }
        moments.append((try #require(responses["/v1/profile"]?.cursor), responses))
      }
      try await keep()
      for (method, path, body) in [
        ("PUT", "/v1/favorites/a", "{}"), ("PUT", "/v1/favorites/b", #"{"title":"B"}"#),
        ("PUT", "/v1/favorites/c", #"{"index":0}"#), ("PUT", "/v1/defaults/standard/theme", "1"),
        ("PATCH", "/v1/defaults/standard", #"{"theme":2,"tone":3}"#), ("PATCH", "/v1/profile", #"{"position":"P"}"#),
        ("PUT", "/v1/favorites/b/position", #"{"index":0}"#), ("DELETE", "/v1/favorites/a", nil),
        ("DELETE", "/v1/defaults/standard/theme", nil), ("PUT", "/v1/favorites/a", #"{"title":"again"}"#),
      ] as [(String, String, String?)] {
        users.time.advance(by: 1)
        _ = try await ada.ask(method, path, body)
        try await keep()
      }
      for _ in 0..<2 {
        for (cursor, responses) in moments {
          for path in paths {
            let past = try await ada.get(path + (path.contains("?") ? "&" : "?") + "at=\(cursor)")
            let then = try #require(responses[path])
            #expect(past.status == then.status, "\(path) at \(cursor)")
            guard then.status == 200 else { continue }
            #expect(past.cursor == cursor)
            #expect(past.body == then.body, "\(path) at \(cursor)")
            #expect(past.tag == then.tag)
          }
        }
        try await users.restart()
      }
    }
  }

  @Test("Linked pages show one state, whatever is written in the meantime")
  func consistentPages() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c", "d", "e", "f", "g")
      var ids: [String] = []
      var target: String? = "/v1/favorites?limit=2"
      var other = 0
      while let next = target {
        let page = try await ada.get(next)
        #expect(page.status == 200)
        #expect(page.json["count"] == 7)
        ids += page.json["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
        target = page.nextLink
        // Another device changes the list before, inside and after the page.
        _ = try await ada.delete("/v1/favorites/\(["b", "e", "g", "a"][other % 4])")
        _ = try await ada.put("/v1/favorites/new\(other)", #"{"index":\#(other)}"#)
        other += 1
      }
      #expect(ids == ["a", "b", "c", "d", "e", "f", "g"])
      #expect(other == 4)
    }
  }

  @Test("A past state that this store does not have gets 404")
  func unknown() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let cursor = try #require(try await ada.get("/v1/favorites").cursor)
      let parts = cursor.split(separator: ".").map(String.init)
      for (at, expected) in [
        ("\(parts[0]).99.0", "not-found"), ("\(parts[0]).1.7", "not-found"), ("00000000.1.0", "not-found"),
        ("\(parts[0]).8796093022207.0", "not-found"), ("\(parts[0]).8796093022208.0", "invalid-parameter"),
        ("\(parts[0]).-1.0", "invalid-parameter"), ("\(parts[0]).01.0", "invalid-parameter"),
        ("\(parts[0])", "invalid-parameter"), ("'%20OR%201=1", "invalid-parameter"), ("now", "invalid-parameter"),
        ("\(parts[0]).1.0.d.e", "invalid-parameter"), ("%00", "invalid-parameter"),
      ] {
        #expect(try await ada.get("/v1/favorites?at=\(at)").problem == ProblemSummary(expected), "\(at)")
      }
      #expect(try await ada.get("/v1/favorites?at=\(cursor)").status == 200)
    }
  }

  @Test("Old history is pruned in steps, and the present state stays")
  func pruned() async throws {
    try await ServerFixture.run {
      $0.history.days = 1
      $0.history.revisions = 10
    } _: { users in
      let ada = try await users.signUp()
      let first = try #require(try await ada.put("/v1/defaults/standard/n", "0").cursor)
      try await ada.addFavorites("a")
      try await ada.setMany("n", 1...300)
      users.time.advance(by: 2 * 86_400)
      try await ada.setMany("n", 301...318)
      // The step of pruning comes after the write that caused it.
      try await eventually { try await users.count("journal") < 320 }
      #expect(try await ada.get("/v1/defaults/standard?at=\(first)").problem == ProblemSummary("not-found"))
      #expect(try await ada.get("/v1/defaults/standard/n").text == "318")
      let before = try await ada.get("/v1/favorites")
      try await users.restart()
      #expect(try await ada.get("/v1/favorites").body == before.body)
      #expect(try await ada.get("/v1/favorites?at=\(before.cursor ?? "")").body == before.body)
    }
  }
}

extension Device {
  /// Sets a default to each of the numbers, over one connection.
  fileprivate func setMany(_ key: String, _ numbers: ClosedRange<Int>) async throws {
    let client = try users.connect()
    defer { client.close() }
    for number in numbers {
      let fields = ["Authorization: Bearer \(token)", "Content-Length: \("\(number)".utf8.count)"]
      try await client.send(StubbedServer.request("PUT", "/v1/defaults/standard/\(key)", fields) + "\(number)")
      #expect(try await client.response().status == 200)
    }
  }
}
