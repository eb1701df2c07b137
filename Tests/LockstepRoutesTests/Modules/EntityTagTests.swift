import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("ETags and cursors", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct EntityTagTests {
  /// Reads the resources at these paths.
  private func read(_ paths: [String], _ ada: Device) async throws -> [String: RawResponse] {
    var responses: [String: RawResponse] = [:]
    for path in paths { responses[path] = try await ada.get(path) }
    return responses
  }

  @Test("An ETag changes if and only if its resource changes", .withoutDeclaredMap)
  func changes() async throws {
    let paths = [
      "/v1/favorites", "/v1/favorites/a", "/v1/favorites/b", "/v1/favorites/c", "/v1/defaults", "/v1/defaults/standard",
      "/v1/defaults/standard/x", "/v1/defaults/standard/y", "/v1/defaults/other", "/v1/profile",
    ]
    let steps: [(method: String, path: String, body: String?, changed: Set<String>)] = [
      // The index is a part of an item, so the shifted items change.
      ("PUT", "/v1/favorites/n", #"{"index":1}"#, ["/v1/favorites", "/v1/favorites/b", "/v1/favorites/c"]),
      ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#, ["/v1/favorites", "/v1/favorites/a"]),
      ("PUT", "/v1/favorites/b/position", #"{"index":3}"#, ["/v1/favorites", "/v1/favorites/b", "/v1/favorites/c"]),
      ("PUT", "/v1/favorites/a/position", #"{"index":0}"#, []),
      ("PATCH", "/v1/favorites/a", #"{"title":"A"}"#, []),
      ("DELETE", "/v1/favorites/n", nil, ["/v1/favorites", "/v1/favorites/b", "/v1/favorites/c"]),
      (
        "PUT", "/v1/defaults/standard/x", "10",
        ["/v1/defaults", "/v1/defaults/standard", "/v1/defaults/standard/x"]
      ),
      ("PUT", "/v1/defaults/standard/x", "10", []),
      ("PUT", "/v1/defaults/standard/x", "11", ["/v1/defaults/standard", "/v1/defaults/standard/x"]),
      ("PUT", "/v1/defaults/other/z", "1", ["/v1/defaults", "/v1/defaults/other"]),
      ("DELETE", "/v1/defaults/other/z", nil, ["/v1/defaults", "/v1/defaults/other"]),
      ("PATCH", "/v1/profile", #"{"position":"P"}"#, ["/v1/profile"]),
      ("PATCH", "/v1/profile", #"{"position":" P "}"#, []),
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      _ = try await ada.patch("/v1/defaults/standard", #"{"x":1,"y":2}"#)
      var before = try await read(paths, ada)
      for (method, path, body, changed) in steps {
        users.time.advance(by: 1)
        let response = try await ada.ask(method, path, body)
        #expect((200..<300).contains(response.status), "\(method) \(path) \(response.text)")
        let after = try await read(paths, ada)
        for path in paths {
          let (old, new) = (try #require(before[path]), try #require(after[path]))
          let isFresh = try await ada.get(path, ["If-None-Match: \(old.field("ETag") ?? "")"]).status == 304
          #expect(isFresh == !changed.contains(path), "\(method) \(path) of \(response.text)")
          if path != "/v1/defaults" { #expect((old.tag == new.tag) == isFresh, "\(path)") }
          if isFresh { continue }
          #expect(old.body != new.body, "\(path)")
        }
        // Nothing has changed, so the cursor is the same.
        if changed.isEmpty { #expect(response.cursor == before["/v1/profile"]?.cursor) }
        before = after
      }
    }
  }

  @Test("Pages and prefixes are not modified by changes outside of them")
  func parts() async throws {
    let paths = [
      "/v1/favorites?limit=1", "/v1/favorites?prefix=a", "/v1/favorites?after=a&limit=1",
      "/v1/defaults/standard?prefix=x",
    ]
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      _ = try await ada.patch("/v1/defaults/standard", #"{"x":1,"y":2}"#)
      let before = try await read(paths, ada)
      func freshness() async throws -> [Bool] {
        var fresh: [Bool] = []
        for path in paths {
          let tag = before[path]?.field("ETag") ?? ""
          let response = try await ada.get(path, ["If-None-Match: \(tag)"])
          if response.status == 304 { #expect(response.field("ETag") == tag) }
          fresh.append(response.status == 304)
        }
        return fresh
      }
      _ = try await ada.put("/v1/favorites/c", #"{"title":"C"}"#)
      _ = try await ada.put("/v1/defaults/standard/y", "3")
      #expect(try await freshness() == [true, true, true, true])
      _ = try await ada.put("/v1/favorites/b", #"{"title":"B"}"#)
      #expect(try await freshness() == [true, true, false, true])
      _ = try await ada.put("/v1/defaults/standard/x", "2")
      #expect(try await freshness() == [true, true, false, false])
      // The count is a part of a page.
      try await ada.addFavorites("a2")
      #expect(try await freshness() == [false, false, false, false])
    }
  }

  @Test("The same ETag means the same bytes, whatever happens and after any number of restarts")
  func sameBytes() async throws {
    let paths = ConditionalRequestTests.resources + ["/v1/favorites/a", "/v1/defaults/standard/size"]
    try await ServerFixture.run {
      $0.administratorToken = ServerFixture.administrator
    } _: { users in
      let ada = try await users.signUp()
      var seen: [String: [String: [UInt8]]] = [:]
      func look() async throws {
        for (path, response) in try await read(paths, ada) where response.status == 200 {
          let tag = try #require(response.tag)
          let known = seen[path, default: [:]].updateValue(response.body, forKey: tag)
          #expect(known == nil || known == response.body, "\(path) \(tag)")
        }
      }
      let steps: [@Sendable () async throws -> Void] = [
        { try await ConditionalRequestTests.fill(ada) },
        { try await users.register("standard", #"{"size":1,"theme":"light"}"#) },
        { _ = try await ada.put("/v1/favorites/0", #"{"index":0}"#) },
        { _ = try await ada.delete("/v1/favorites/0") },
        { _ = try await ada.put("/v1/defaults/standard/size", "1") },
        { _ = try await ada.delete("/v1/defaults/standard/size") },
        { try await users.register("standard", #"{"size":2}"#) },
        { _ = try await ada.put("/v1/favorites/a", #"{"title":"A"}"#) },
        { try await users.register("standard", #"{"size":1,"theme":"light"}"#) },
        { _ = try await ada.delete("/v1/favorites/a") },
        { try await ada.addFavorites("a") },
        { _ = try await ada.delete("/v1/defaults/standard/theme") },
      ]
      for step in steps {
        users.time.advance(by: 1)
        try await step()
        try await look()
        let before = try await read(paths, ada)
        try await users.restart()
        let after = try await read(paths, ada)
        for path in paths {
          #expect(after[path]?.tag == before[path]?.tag, "\(path)")
          #expect(after[path]?.body == before[path]?.body, "\(path)")
          #expect(after[path]?.cursor == before[path]?.cursor, "\(path)")
        }
      }
    }
  }

  @Test("A cursor has only letters, digits, dots, hyphens and underscores, and every response about state has one")
  func cursors() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ConditionalRequestTests.fill(ada)
      var responses: [RawResponse] = []
      for path in ConditionalRequestTests.resources { responses.append(try await ada.get(path)) }
      responses.append(try await ada.get("/v1/favorites/absent"))
      responses.append(try await ada.put("/v1/favorites/c", "{}"))
      responses.append(try await ada.put("/v1/favorites/c", "{}", ["If-None-Match: *"]))
      responses.append(try await ada.delete("/v1/favorites/c"))
      responses.append(try await ada.delete("/v1/favorites/c"))
      responses.append(try await ada.put("/v1/defaults/standard/a", "1"))
      responses.append(try await ada.patch("/v1/profile", #"{"position":"P"}"#))
      responses.append(
        try await ada.post(
          "/v1/actions",
          ActionsRouteTests.batch([
            ActionsRouteTests.action("favorites", "clear", "{}")
          ])
        )
      )
      for response in responses {
        let cursor = try #require(response.cursor, "\(response.status) \(response.text)")
        #expect(cursor.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil)
        if let tag = response.tag { #expect(tag.wholeMatch(of: /[A-Za-z0-9._-]+/) != nil) }
      }
    }
  }
}
