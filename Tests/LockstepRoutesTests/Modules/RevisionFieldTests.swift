import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "The field Revision, and the keys of own writes in the feed",
  .timeLimit(.minutes(10)),
  .alsoWithDeclaredCollections
)
struct RevisionFieldTests {
  @Test("Each response about a user's state has the number of transactions that the state includes")
  func responses() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.get("/v1/favorites").field("Revision") == "0")
      try await ada.addFavorites("a", "b")
      let written = try await ada.put("/v1/defaults/standard/theme", "1")
      #expect(written.field("Revision") == "3")
      let paths = ConditionalRequestTests.resources + ["/v1/changes", "/v1/changes?since=now", "/v1/journal"]
      for path in paths + ["/v1/me/export", "/v1/favorites/none"] {
        let response = try await ada.get(path)
        #expect(response.field("Revision") == "3", "\(path)")
        if path.hasPrefix("/v1/changes") { #expect(response.json["revision"] == 3) }
        guard let tag = response.field("ETag") else { continue }
        #expect(try await ada.get(path, ["If-None-Match: \(tag)"]).field("Revision") == "3", "\(path)")
      }
      let stale = try await ada.put("/v1/favorites/a", "{}", [#"If-Match: "x""#])
      #expect(stale.status == 412 && stale.field("Revision") == "3")
      #expect(try await ada.get("/v1/reactors").field("Revision") == nil)
    }
  }

  @Test("A past state has its own revision, and a repeated response that of the first one")
  func past() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      let key = "Idempotency-Key: one"
      let first = try await ada.put("/v1/favorites/b", "{}", [key])
      try await ada.addFavorites("c")
      let cursor = try #require(first.cursor)
      #expect(try await ada.get("/v1/favorites?at=\(cursor)").field("Revision") == "2")
      let again = try await ada.put("/v1/favorites/b", "{}", [key])
      #expect(again.field("Idempotency-Replayed") == "true" && again.field("Revision") == "2")
    }
  }

  @Test("A write without an effect, and a change of registered defaults, do not raise the revision")
  func unchanged() async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }) { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a")
      try await users.register("standard", #"{"theme":1}"#)
      #expect(try await ada.get("/v1/defaults/standard").field("Revision") == "1")
      let same = try await ada.put("/v1/favorites/a", "{}")
      #expect(same.status == 200 && same.field("Revision") == "1")
    }
  }

  // MARK: Read your writes

  @Test("A read with a cursor that is still to come gets 503, a malformed one 400, and any other is ignored")
  func newEnough() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let old = try #require(try await ada.get("/v1/favorites").cursor)
      try await ada.addFavorites("a")
      let now = try #require(try await ada.get("/v1/favorites").cursor)
      let parts = now.split(separator: ".")
      let era = parts[1].split(separator: "-")[1]
      for path in ["/v1/favorites", "/v1/favorites/a", "/v1/defaults/standard", "/v1/changes", "/v1/journal"] {
        for cursor in [old, now, "00000000.9.0", "\(parts[0]).9-1.0", "\(now).i1"] {
          #expect(try await ada.get(path, ["Cursor: \(cursor)"]).status == 200, "\(path) \(cursor)")
        }
        for cursor in ["", "x", "1", "\(parts[0]).x.0"] {
          let refused = try await ada.get(path, ["Cursor: \(cursor)"])
          #expect(refused.problem == ProblemSummary("invalid-parameter"), "\(path) \(cursor)")
        }
      }
      let ahead = try await ada.get("/v1/favorites", ["Cursor: \(parts[0]).2-\(era).0"])
      if TestedStore.isSQLite {
        #expect(ahead.status == 503 && ahead.field("Retry-After") == "1")
      } else {
        // The server has looked for the state in the store. So the cursor is of a lost history.
        #expect(ahead.status == 200)
      }
    }
  }

  // MARK: Keys

  private static func keys(_ response: RawResponse) -> [String]? {
    response.json["keys"]?.arrayValue?.compactMap(\.stringValue)
  }

  @Test("The feed has the keys of the session's own writes since the cursor, in order, and no others")
  func keys() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp(device: "phone")
      let tablet = try await users.logIn(device: "tablet")
      let start = try #require(try await phone.get("/v1/changes").cursor)
      for number in 1...3 {
        _ = try await phone.put("/v1/favorites/p\(number)", "{}", ["Idempotency-Key: phone \(number)"])
        _ = try await tablet.put("/v1/favorites/t\(number)", "{}", ["Idempotency-Key: tablet \(number)"])
        try await phone.addFavorites("x\(number)")
      }
      let all = try await phone.get("/v1/changes?since=\(start)")
      #expect(Self.keys(all) == ["phone 1", "phone 2", "phone 3"])
      #expect(Self.keys(try await tablet.get("/v1/changes?since=\(start)")) == ["tablet 1", "tablet 2", "tablet 3"])
      #expect(Self.keys(try await phone.get("/v1/changes")) == ["phone 1", "phone 2", "phone 3"])
      let end = try #require(all.cursor)
      #expect(Self.keys(try await phone.get("/v1/changes?since=\(end)")) == [])
      #expect(Self.keys(try await phone.get("/v1/changes?since=now")) == [])
      // A write without an effect has no revision, so no cursor is before it.
      _ = try await phone.put("/v1/favorites/p1", "{}", ["Idempotency-Key: phone 1"])
      #expect(Self.keys(try await phone.get("/v1/changes?since=\(end)")) == [])
    }
  }

  @Test("More keys than memory has, and those from before a restart, come from the store")
  func stored() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let start = try #require(try await ada.get("/v1/changes").cursor)
      for number in 1...20 { _ = try await ada.put("/v1/favorites/\(number)", "{}", ["Idempotency-Key: \(number)"]) }
      let middle = try #require(try await ada.get("/v1/journal?limit=10").json["cursor"]?.stringValue)
      let keys = (1...20).map { "\($0)" }
      for _ in 1...2 {
        #expect(Self.keys(try await ada.get("/v1/changes?since=\(start)")) == keys)
        #expect(Self.keys(try await ada.get("/v1/changes?since=\(middle)")) == Array(keys[10...]))
        await users.stop()
        try await users.restart()
      }
    }
  }

  @Test("A waiting request gets the key of its own session's write, and others get none")
  func waiting() async throws {
    try await ServerFixture.run { users in
      let phone = try await users.signUp(device: "phone")
      let tablet = try await users.logIn(device: "tablet")
      for number in 1...3 {
        let start = try #require(try await phone.get("/v1/changes?since=now").cursor)
        let path = "/v1/changes?since=\(start)&wait=30"
        let (mine, others) = (try await phone.waiting(path), try await tablet.waiting(path))
        await eventually { users.waiting == 2 }
        _ = try await phone.put("/v1/favorites/\(number)", "{}", ["Idempotency-Key: k\(number)"])
        #expect(Self.keys(try await mine.response()) == ["k\(number)"])
        #expect(Self.keys(try await others.response()) == [])
      }
    }
  }

  @Test("A reset has the keys of the last day")
  func day() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await ada.put("/v1/favorites/a", "{}", ["Idempotency-Key: old"])
      users.advance(by: 24 * 3_600 + 1)
      _ = try await ada.put("/v1/favorites/b", "{}", ["Idempotency-Key: new"])
      #expect(Self.keys(try await ada.get("/v1/changes")) == ["new"])
    }
  }
}
