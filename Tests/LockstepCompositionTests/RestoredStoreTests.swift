import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("A store that was replaced by an older copy", .timeLimit(.minutes(10)))
struct RestoredStoreTests {
  /// The cursors and tags that a device has from a history that was lost.
  private struct Memory {
    let feed: String
    let favorites: String
    let defaults: String
    let registered: String

    init(of device: Device) async throws {
      feed = try #require(try await device.get("/v1/changes?since=now").cursor)
      favorites = try #require(try await device.get("/v1/favorites").tag)
      defaults = try #require(try await device.get("/v1/defaults/standard").tag)
      registered = try #require(try await device.get("/v1/defaults/other").tag)
    }
  }

  /// Makes a copy of the store, writes, restores the copy, and writes more than before. Then runs
  /// `body` with the cursors from before the copy and those from the end of the lost history.
  private func run(_ body: (ServerFixture, Device, _ kept: Memory, _ lost: Memory) async throws -> Void) async throws {
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }) { users in
      let ada = try await users.signUp()
      try await users.register("other", #"{"a":1}"#)
      try await ada.addFavorites("a")
      let kept = try await Memory(of: ada)
      await users.stop()
      try await users.keepCopy()
      try await users.restart()
      try await users.register("other", #"{"a":2}"#)
      _ = try await ada.put("/v1/defaults/standard/lost", "1")
      try await ada.addFavorites("lost")
      let lost = try await Memory(of: ada)
      await users.stop()
      try await users.restoreCopy()
      try await users.restart()
      try await users.register("other", #"{"a":3}"#)
      try await ada.addFavorites("b", "c")
      _ = try await ada.put("/v1/profile", "{}")
      _ = try await ada.put("/v1/defaults/standard/new", "1")
      try await body(users, ada, kept, lost)
    }
  }

  @Test("A cursor from the lost history gets a reset in the feed, with any filter")
  func reset() async throws {
    try await run { _, ada, _, lost in
      for query in ["", "&collections=favorites", "&collections=profile", "&collections=defaults/none", "&wait=30"] {
        let response = try await ada.get("/v1/changes?since=\(lost.feed)\(query)").json
        #expect(response["reset"]?.boolValue == true, "\(query)")
      }
      let all = try await ada.get("/v1/changes?since=\(lost.feed)&collections=favorites").json
      #expect(all["changesets"]?[0]?["items"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == ["a", "b", "c"])
      let journal = try await ada.get("/v1/journal?since=\(lost.feed)").json
      #expect(journal["entries"]?.arrayValue?.count == 4)
    }
  }

  @Test("A tag from the lost history never gives a 304 and cannot overwrite new values")
  func preconditions() async throws {
    try await run { _, ada, _, lost in
      for (path, tag) in [
        ("/v1/favorites", lost.favorites), ("/v1/defaults/standard", lost.defaults),
        ("/v1/defaults/other", lost.registered),
      ] {
        #expect(try await ada.get(path, ["If-None-Match: \"\(tag)\""]).status == 200, "\(path)")
        #expect(try await ada.get("\(path)?at=\(tag)").problem == ProblemSummary("not-found"), "\(path)")
      }
      let write = try await ada.patch("/v1/defaults/standard", #"{"lost":2}"#, ["If-Match: \"\(lost.defaults)\""])
      #expect(write.problem == ProblemSummary("precondition-failed"))
      #expect(try await ada.get("/v1/favorites?at=\(lost.feed)").problem == ProblemSummary("not-found"))
    }
  }

  @Test("A cursor from before the copy continues without a gap")
  func kept() async throws {
    try await run { _, ada, kept, _ in
      let response = try await ada.get("/v1/changes?since=\(kept.feed)&collections=favorites,defaults/other").json
      #expect(response["reset"]?.boolValue == false)
      #expect(response["changesets"]?.arrayValue?.count == 2)
      #expect(response["changesets"]?[0]?["set"] == ["a": 3])
      #expect(response["changesets"]?[1]?["insertions"]?.arrayValue?.count == 2)
      #expect(try await ada.get("/v1/favorites?at=\(kept.feed)").json["count"] == 1)
    }
  }
}
