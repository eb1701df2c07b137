import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Waiting requests and ended sessions", .timeLimit(.minutes(10)))
struct EndedSessionWaiterTests {
  @Test("An ended session notifies only the requests of its user, and its own request gets 401")
  func ended() async throws {
    try await ServerFixture.run { users in
      let waiters = try #require(users.running.withLock { $0 }?.services.users.states.waiters)
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      let phone = try await users.logIn("bob")
      var waiting: [RawClient] = []
      for device in [ada, bob, phone] {
        let cursor = try #require(try await device.get("/v1/changes").cursor)
        waiting.append(try await device.waiting("/v1/changes?since=\(cursor)&wait=60"))
      }
      await eventually { users.waiting == 3 }
      let before = waiters.metrics.wakings

      // A login deletes sessions that have expired, here one of another user.
      let eve = try await users.signUp("eve")
      _ = try await eve.get("/v1/me")
      _ = try await users.rows("UPDATE sessions SET expires_at = 0 WHERE id = '\(eve.session)'")
      _ = try await users.logIn("eve")
      #expect(try await users.rows("SELECT 1 FROM sessions WHERE id = '\(eve.session)'").isEmpty)
      #expect(waiters.metrics.wakings == before)

      // Both devices of the user are notified, and the other one waits again.
      #expect(try await bob.delete("/v1/sessions/\(phone.session)").status == 204)
      #expect(try await waiting[2].response().status == 401)
      await eventually { users.waiting == 2 }
      for client in waiting { client.close() }
    }
  }
}
