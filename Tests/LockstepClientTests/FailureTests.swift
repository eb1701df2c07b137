import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Testing

@testable import LockstepClient

/// Credentials that cannot be read at the moment, such as before the first unlock of a device.
private struct LockedCredentials: ClientCredentials {
  private struct Locked: Error {}

  func token() async throws -> String? { throw Locked() }
  func save(_ token: String?) async throws { throw Locked() }
}

@Suite("Texts of failures for users", .timeLimit(.minutes(10)))
struct FailureTests {
  @Test("The title of a failure is also its localized description")
  func localized() {
    let failure: any Error = ClientFailure("The socket 7 is closed.", title: "There is no connection")
    #expect(failure.localizedDescription == "There is no connection" && "\(failure)" == "The socket 7 is closed.")
    let full: any Error = LockstepClientError(.diskFull, "SQLITE_FULL")
    #expect(full.localizedDescription == "There is no room for more on this device" && "\(full)" == "SQLITE_FULL")
  }

  @Test("The titles of the client are short sentences without a full stop, as those of the server are")
  func titles() {
    let reasons: [LockstepClientError.Reason] = [
      .damaged, .otherDatabase, .newerVersion, .noAccess, .noFolder, .diskFull, .busy, .invalidModule, .other,
    ]
    let titles = ClientFailure.Title.allCases.map(\.rawValue) + reasons.map { LockstepClientError($0, "").title }
    for title in titles {
      #expect(title.first?.isUppercase == true && title.last?.isLetter == true && title.utf8.count <= 75, "\(title)")
    }
  }

  @Test("Before a response, a failure says that the server cannot be reached")
  func unreachable() throws {
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.status.failure?.title == "The server cannot be reached")
    #expect(fixture.client.status.failure?.status == nil)
  }

  @Test("Without a token, the failure says that the user is not logged in")
  func noToken() throws {
    let fixture = try ClientFixture(token: nil)
    #expect(fixture.client.status.connection == .needsLogin)
    #expect(fixture.client.status.failure?.title == "You are not logged in")
    #expect(fixture.client.status.failure?.type == "unauthorized")
  }

  @Test("If the token cannot be read, the failure does not say that the server cannot be reached")
  func lockedCredentials() throws {
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    let client = try LockstepClient(store: .memory, transport: server, credentials: LockedCredentials(), clock: clock)
    clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    #expect(client.status.connection == .offline)
    #expect(client.status.failure?.title == "This device cannot use its login")
  }

  @Test("After a logout, a pending write says that it was deleted, and a new one that the user has logged out")
  func loggedOut() throws {
    let (fixture, pending, new) = (try ClientFixture(), Recorded<ClientFailure>(), Recorded<ClientFailure>())
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [settings = fixture.settings] in
      do { _ = try await settings.set("theme", "dark").confirmed } catch { pending.set(ClientFailure(of: error)) }
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [client = fixture.client, settings = fixture.settings] in
      try? await client.logOut()
      do { try await settings.set("theme", "light") } catch { new.set(ClientFailure(of: error)) }
    }
    fixture.clock.advance(by: .seconds(10))
    #expect(pending.value?.title == "This change was deleted from this device, because its user has logged out")
    #expect(new.value?.title == "You have logged out")
  }

  @Test("A failure in a file of an earlier version of the client has a title too")
  func storedWithoutTitle() {
    let inDoubt = ClientFailure(stored: ["description": "The server may have applied it."])
    #expect(inDoubt.title == "Something went wrong" && inDoubt.description == "The server may have applied it.")
    let problem: JSON = ["type": "/problems/conflict", "title": "This conflicts", "status": 409]
    let refused = ClientFailure(stored: ["description": "d", "status": 409, "problem": problem])
    #expect(refused.title == "This conflicts" && refused.type == "conflict" && refused.status == 409)
  }
}
