import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
import LockstepHTTP
import LockstepJSON
@testable import LockstepMaintenance
@testable import LockstepRoutes
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Stores that cannot be written", .timeLimit(.minutes(10)))
struct FullDiskTests {
  @Test(
    "On a full disk, writes get 503, and the log has one line at the beginning and one at the end",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly)
  )
  func fullDisk() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let long = #""\#(String(repeating: "x", count: 100_000))""#
      try await setLargest(4, users)
      for _ in 1...3 {
        let response = try await ada.put("/v1/defaults/standard/a", long)
        #expect(response.status == 503)
        #expect(response.problem == ProblemSummary("overloaded"))
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

  /// Result codes of SQLite and the resulting status, or nil for an error of the server.
  private static let told: [(code: Int32, status: Int?)] = [
    (5, 503), (6, 503), (8, 503), (10, 503), (778, 503), (1034, 503), (4874, 503), (11, 503), (13, 503), (14, 503),
    (26, 503), (516, 503), (1, nil), (20, nil), (21, nil),
  ]

  @Test(
    "An error of the disk, the file or a lock gets 503, and an error of the server does not",
    arguments: told
  )
  func failingDisk(code: Int32, status: Int?) {
    let error = SQLiteError(extendedCode: code, message: "disk I/O error", sql: "COMMIT", path: "/data/lockstep.db")
    let problem = Problem.describing(error)
    #expect(problem?.kind.status.code == status)
    // Only the operator learns the path of the store and SQLite's message.
    #expect(problem?.detail.contains("/data") != true)
    #expect((problem?.fields[.retryAfter] != nil) == (status != nil))
  }

  /// Limits the number of pages of the store. It cannot be less than the present number.
  private func setLargest(_ pages: Int, _ users: ServerFixture) async throws {
    let writer = try #require(users.running.withLock { $0?.services.users.storage.writer })
    try await writer.write { try $0.execute("PRAGMA max_page_count = \(pages)") }
  }
}
