import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("A map module of another package is served like the built-in ones", .timeLimit(.minutes(10)))
struct OwnMapTests {
  private static func run(_ body: (ServerFixture, Device) async throws -> Void) async throws {
    try await ServerFixture.run(modules: [.scores]) { users in try await body(users, try await users.signUp()) }
  }

  @Test("A value can be put, read back unchanged and deleted")
  func value() async throws {
    try await Self.run { _, ada in
      let made = try await ada.put("/v1/scores/a", "7")
      #expect(made.status == 201)
      let again = try await ada.put("/v1/scores/a", #""seven""#)
      #expect(again.status == 200)
      #expect(again.text == #""seven""#)
      let read = try await ada.get("/v1/scores/a")
      #expect(read.body == again.body)
      #expect(read.tag == again.tag)
      #expect(
        try await ada.put("/v1/scores/a", "8", ["If-None-Match: *"]).problem == ProblemSummary("precondition-failed")
      )
      #expect(try await ada.delete("/v1/scores/a").status == 204)
      #expect(try await ada.get("/v1/scores/a").problem == ProblemSummary("not-found"))
      #expect(try await ada.patch("/v1/scores/a", "{}").status == 405)
    }
  }

  @Test("A fault of the value refers to the whole body")
  func fault() async throws {
    try await Self.run { _, ada in
      let long = try await ada.put("/v1/scores/a", #""12345678901234567890""#)
      #expect(long.problem == ProblemSummary("validation-failed", ""))
      #expect(try await ada.put("/v1/scores/a", "").problem == ProblemSummary("malformed-json"))
    }
  }

  @Test("The map is in the order of its keys and can be filtered by prefix, and the feed has each change")
  func whole() async throws {
    try await Self.run { users, ada in
      for key in ["b", "a2", "a1"] { _ = try await ada.put("/v1/scores/\(key)", "1") }
      let whole = try await ada.get("/v1/scores")
      #expect(whole.text == #"{"cursor":"\#(whole.tag ?? "")","count":3,"values":{"a1":1,"a2":1,"b":1}}"#)
      let part = try await ada.get("/v1/scores?prefix=a")
      #expect(part.json["values"] == ["a1": 1, "a2": 1])
      #expect(part.json["count"] == 2)
      #expect(part.tag != whole.tag)
      _ = try await ada.delete("/v1/scores/b")
      let told = try await ada.get("/v1/changes?since=\(whole.tag ?? "")&collections=scores")
      #expect(told.json["changesets"] == [["collection": "scores", "kind": "map", "set": [:], "removed": ["b"]]])
      #expect(try await ada.get("/v1/scores?at=\(whole.tag ?? "")").body == whole.body)
      let before = try await ada.get("/v1/scores")
      try await users.restart()
      let after = try await ada.get("/v1/scores")
      #expect(after.body == before.body)
      #expect(after.tag == before.tag)
      #expect(try await ada.post("/v1/scores/actions", #"{"type":"clear"}"#).tag != after.tag)
      try await users.restart()
      #expect(try await ada.get("/v1/scores").json["count"] == 0)
    }
  }

  @Test("Above the quota, a write is refused")
  func quota() async throws {
    try await ServerFixture.run(modules: [.scores(CollectionQuota(elements: 1, bytes: 8))]) { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/scores/a", "1").status == 201)
      #expect(try await ada.put("/v1/scores/b", "1").problem == ProblemSummary("quota-exceeded"))
      #expect(try await ada.put("/v1/scores/a", "12345678").problem == ProblemSummary("quota-exceeded"))
      #expect(try await ada.put("/v1/scores/a", "1234567").status == 200)
    }
  }
}
