import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Reads that wait for a reader thread", .timeLimit(.minutes(10)))
struct WaitingReadTests {
  @Test("A client gets 503 if too many of its user's reads wait")
  func overloaded() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let cursor = try #require(try await ada.put("/v1/defaults/standard/a", "0").cursor)
      // More than the past states that are in memory.
      for number in 1...40 { _ = try await ada.put("/v1/defaults/standard/a", "\(number)") }
      let readers = try #require(users.running.withLock { $0?.services.users.storage.readers })
      let (arrival, gate) = (ThreadGate(), ThreadGate())
      let id = try #require(UserID(ada.user))
      let held = Task {
        try await readers.read(for: id, from: nil) { _ in
          arrival.open()
          gate.pass()
        }
      }
      await arrival.opened()
      let waiting = (0..<UserReaders.waiting).map { _ in Task { try await readers.read(for: id, from: nil) { _ in } } }
      await eventually { readers.shares.waiting(of: id) == UserReaders.waiting }
      for path in ["/v1/defaults/standard?at=\(cursor)", "/v1/journal", "/v1/me", "/v1/sessions"] {
        let response = try await ada.get(path)
        #expect(response.status == 503, "\(path)")
        #expect(response.problem == ProblemSummary("overloaded"))
        #expect(response.field("Retry-After") == "1")
      }
      // A state in memory needs no reader.
      #expect(try await ada.get("/v1/defaults/standard/a").status == 200)
      gate.open()
      try await held.value
      for task in waiting { try await task.value }
      #expect(try await ada.get("/v1/me").status == 200)
    }
  }
}
