import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Quotas", .timeLimit(.minutes(10)), .alsoWithDeclaredCollections)
struct QuotaTests {
  /// Checks that a write is refused for its size and changes nothing.
  private func expectRefused(
    _ ada: Device,
    _ method: String,
    _ path: String,
    _ body: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = try await ada.get("/v1/me/export")
    let response = try await ada.ask(method, path, body)
    #expect(response.status == 507, sourceLocation: sourceLocation)
    #expect(response.problem == ProblemSummary("quota-exceeded"), sourceLocation: sourceLocation)
    #expect(try await ada.get("/v1/me/export").body == before.body, sourceLocation: sourceLocation)
  }

  @Test("A user may have a limited number of favorites, and may still change and remove them")
  func items() async throws {
    try await ServerFixture.run {
      $0.favoritesQuota.elements = 2
    } _: { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      try await expectRefused(ada, "PUT", "/v1/favorites/c", "{}")
      #expect(try await ada.put("/v1/favorites/a", #"{"title":"A"}"#).status == 200)
      _ = try await ada.delete("/v1/favorites/a")
      #expect(try await ada.put("/v1/favorites/c", "{}").status == 201)
      let bob = try await users.signUp("bob")
      #expect(try await bob.put("/v1/favorites/c", "{}").status == 201)
    }
  }

  @Test("The bytes of favorites are limited")
  func bytes() async throws {
    let text = String(repeating: "x", count: 200)
    try await ServerFixture.run {
      $0.favoritesQuota.bytes = 580
    } _: { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/favorites/a", #"{"title":"\#(text)"}"#).status == 201)
      _ = try await ada.put("/v1/favorites/b", "{}")
      try await expectRefused(ada, "PUT", "/v1/favorites/c", #"{"title":"\#(text)"}"#)
      try await expectRefused(ada, "PATCH", "/v1/favorites/b", #"{"title":"\#(text)"}"#)
      #expect(try await ada.patch("/v1/favorites/a", #"{"title":"short"}"#).status == 200)
      #expect(try await ada.patch("/v1/favorites/b", #"{"title":"\#(text)"}"#).status == 200)
    }
  }

  @Test("The keys and bytes of a suite are limited")
  func suite() async throws {
    let text = String(repeating: "x", count: 100)
    try await ServerFixture.run {
      $0.defaultsQuota.keys = 3
      $0.defaultsQuota.bytes = 150
    } _: { users in
      let ada = try await users.signUp()
      _ = try await ada.patch("/v1/defaults/standard", #"{"a":1,"b":2,"c":3}"#)
      try await expectRefused(ada, "PUT", "/v1/defaults/standard/d", "4")
      try await expectRefused(ada, "PATCH", "/v1/defaults/standard", #"{"a":0,"d":4}"#)
      #expect(try await ada.patch("/v1/defaults/standard", #"{"a":null,"d":4}"#).status == 200)
      #expect(try await ada.put("/v1/defaults/standard/b", #""\#(text)""#).status == 200)
      try await expectRefused(ada, "PUT", "/v1/defaults/standard/c", #""\#(text)""#)
      #expect(try await ada.put("/v1/defaults/other/c", #""\#(text)""#).status == 201)
    }
  }

  @Test(
    "Sixteen times the limit of suites may exist over time, and earlier ones may be used again"
  )
  func emptiedSuites() async throws {
    try await ServerFixture.run {
      $0.defaultsQuota.suites = 2
    } _: { users in
      let ada = try await users.signUp()
      for number in 0..<32 {
        #expect(try await ada.put("/v1/defaults/s\(number)/a", "1").status == 201)
        #expect(try await ada.delete("/v1/defaults/s\(number)/a").status == 204)
      }
      try await expectRefused(ada, "PUT", "/v1/defaults/other/a", "1")
      #expect(try await ada.put("/v1/defaults/s7/a", "1").status == 201)
    }
  }

  @Test("The number of suites is limited, and an emptied one makes room")
  func suites() async throws {
    try await ServerFixture.run {
      $0.defaultsQuota.suites = 2
    } _: { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/defaults/one/a", "1")
      _ = try await ada.put("/v1/defaults/two/a", "1")
      try await expectRefused(ada, "PUT", "/v1/defaults/three/a", "1")
      #expect(try await ada.put("/v1/defaults/two/b", "1").status == 201)
      _ = try await ada.delete("/v1/defaults/one/a")
      #expect(try await ada.put("/v1/defaults/three/a", "1").status == 201)
      try await users.restart()
      try await expectRefused(ada, "PUT", "/v1/defaults/one/a", "1")
    }
  }

  @Test("After a quota is lowered, existing elements stay and may be changed and removed")
  func lowered() async throws {
    // The quota of a declared list is a part of its declaration.
    if SwappedWords.current != nil { return }
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b", "c")
      _ = try await ada.patch("/v1/defaults/standard", #"{"a":1,"b":2,"c":3}"#)
      try await users.restart {
        $0.favoritesQuota.elements = 1
        $0.defaultsQuota.keys = 1
      }
      #expect(try await ada.favoriteIDs() == ["a", "b", "c"])
      #expect(try await ada.put("/v1/favorites/a", #"{"title":"A"}"#).status == 200)
      #expect(try await ada.put("/v1/defaults/standard/a", "9").status == 200)
      #expect(try await ada.delete("/v1/favorites/a").status == 204)
      #expect(try await ada.delete("/v1/defaults/standard/a").status == 204)
      try await expectRefused(ada, "PUT", "/v1/favorites/a", "{}")
      try await expectRefused(ada, "PUT", "/v1/defaults/standard/a", "1")
    }
  }
}
