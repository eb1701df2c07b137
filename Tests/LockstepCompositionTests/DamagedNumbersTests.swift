import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Numbers that were changed in the store", .timeLimit(.minutes(10)))
struct DamagedNumbersTests {
  @Test(
    "With any size of the history in the store, the user can read and write",
    arguments: [Int.max, Int.max - 5, .min, -1]
  )
  func written(size: Int) async throws {
    try await ServerFixture.run({ $0.history.bytes = 1 }) { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("a", "b")
      let patch = "Content-Type: application/merge-patch+json"
      _ = try await ada.patch("/v1/defaults/standard", #"{"a":1}"#, [patch])
      await users.stop()
      _ = try await users.rows(
        TestSQL(
          sqlite: "UPDATE journal SET written = \(size) WHERE revision >> 20 <> 2",
          postgreSQL: "UPDATE journal SET written = \(size) WHERE number <> 2"
        )
      )
      if !TestedStore.isSQLite { _ = try await users.rows("UPDATE heads SET written = \(size)") }
      try await users.restart()
      for number in 0..<70 {
        #expect(try await ada.put("/v1/defaults/standard/k", "\(number)").status < 300)
      }
      let journal = try await ada.get("/v1/journal?limit=1000")
      #expect(journal.status == 200)
      // An export ends early if history is pruned while it is sent, so it may need another attempt.
      var export: RawResponse?
      for _ in 1...10 where export == nil { export = try? await ada.get("/v1/me/export") }
      #expect(export?.status == 200)
      #expect(try await ada.favoriteIDs() == ["a", "b"])
      try await users.restart()
      #expect(try await ada.put("/v1/defaults/standard/k", "1").status < 300)
    }
  }

  @Test("A list with a damaged rank cannot be changed there, and the server stays alive")
  func rank() async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      try await ada.addFavorites("a", "b")
      await users.stop()
      for (id, rank) in [("b", Int.max), ("a", Int.min)] {
        _ = try await users.rows("UPDATE list_elements SET rank = \(rank) WHERE id = '\(id)'")
      }
      try await users.restart()
      #expect(try await ada.favoriteIDs() == ["a", "b"])
      for _ in 0..<2 { #expect(try await ada.put("/v1/favorites/c", "{}").status >= 500) }
      #expect(try await ada.favoriteIDs() == ["a", "b"])
      #expect(try await ada.delete("/v1/favorites/a").status < 300)
      #expect(try await bob.put("/v1/favorites/a", "{}").status == 201)
    }
  }
}
