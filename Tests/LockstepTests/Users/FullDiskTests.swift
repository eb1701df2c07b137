import SQLite
import TestSupport
import Testing

@testable import Lockstep

@Suite("A store that can't be written")
struct FullDiskTests {
  @Test(
    "A full disk is 503 for who writes, and two lines in the log however many try: that it's full, and that it's over"
  )
  func fullDisk() async throws {
    try await Users.run { users in
      let ada = try await users.signUp()
      let long = #""\#(String(repeating: "x", count: 100_000))""#
      try await setLargest(4, users)
      for _ in 1...3 {
        let answer = try await ada.put("/v1/defaults/standard/a", long)
        #expect(answer.status == 503)
        #expect(answer.problem == Told("overloaded"))
      }
      #expect(users.log.lines.filter { $0.contains("nothing can be written to the store") }.count == 1)
      #expect(users.log.text.contains("SQLite"))
      #expect(!users.log.text.contains("the store can be written again"))
      try await setLargest(1_000_000, users)
      #expect(try await ada.put("/v1/defaults/standard/a", long).status == 201)
      #expect(users.log.lines.filter { $0.contains("nothing can be written to the store") }.count == 1)
      #expect(users.log.lines.filter { $0.contains("the store can be written again") }.count == 1)
    }
  }

  /// How many pages the store may have: at least those that it has.
  private func setLargest(_ pages: Int, _ users: Users) async throws {
    let writer = try #require(users.running.withLock { $0?.services.users?.writer })
    try await writer.write { try $0.execute("PRAGMA max_page_count = \(pages)") }
  }
}
