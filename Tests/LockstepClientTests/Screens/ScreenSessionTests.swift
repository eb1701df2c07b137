import LockstepClient
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import Synchronization
import Testing

/// Credentials that a test can lock. Locked credentials cannot be read, as on a locked device.
private final class LockedCredentials: ClientCredentials {
  struct Locked: Error {}

  private let base = MemoryCredentials("token")
  private let locked = Mutex(false)

  var isLocked: Bool {
    get { locked.withLock { $0 } }
    set { locked.withLock { $0 = newValue } }
  }

  func token() async throws -> String? {
    if isLocked { throw Locked() }
    return base.token()
  }

  func save(_ token: String?) async throws { base.save(token) }
}

/// An action with the encoding that Swift gives to every enum.
private enum UntypedAction: ScreenAction {
  case save
}

@Suite("Remote screens, sessions and users", .timeLimit(.minutes(10)))
struct ScreenSessionTests {
  @Test("After a logout, the screen does not show the state of the former user, nor perform the waiting actions")
  func loggingOut() throws {
    let fixture = try ScreenFixture(restoring: { last, _ in [.setName(last.name)] })
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    #expect(fixture.screen.currentState.name == "Ada")
    fixture.server.goOffline()
    fixture.settle()
    fixture.screen.send(.tap(1))
    fixture.clock.start { [client = fixture.client] in try? await client.logOut() }
    fixture.clock.advance(by: .seconds(10))
    #expect(fixture.screen.currentState == Form.State(name: "…"))
    #expect(fixture.failures.values.count == 1 && fixture.screen.pending == 0)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.connection == .needsLogin)
    fixture.clock.start { [client = fixture.client] in try? await client.logIn(email: "eve@example.com", password: "p")
    }
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.connection == .live && fixture.screen.currentState == Form.State())
  }

  @Test("A screen keeps its state when the session ends, until the user logs out")
  func revoked() throws {
    let fixture = try ScreenFixture()
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    fixture.server.revokeSession("token")
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.connection == .needsLogin && fixture.screen.currentState.name == "Ada")
    fixture.clock.start { [client = fixture.client] in try? await client.logOut() }
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.currentState == Form.State(name: "…"))
  }

  @Test("While credentials cannot be read, neither the screen nor an action is lost")
  func lockedCredentials() throws {
    let (clock, credentials) = (VirtualClock(), LockedCredentials())
    let server = FakeScreens(clock: clock, others: FakeServer(clock: clock))
    server.add("form") { _ in Form(clock: clock, name: "") }
    let client = try LockstepClient(store: .memory, transport: server, credentials: credentials, clock: clock)
    let screen: RemoteScreen<Form.Action, Form.State> = client.screen("form", initially: Form.State(name: "…"))
    clock.start { await screen.run() }
    clock.advance(by: .milliseconds(100))
    #expect(screen.status.connection == .live)
    credentials.isLocked = true
    screen.send(.tap(1))
    clock.advance(by: .seconds(60))
    #expect(screen.pending == 1 && [.offline, .connecting].contains(screen.status.connection))
    credentials.isLocked = false
    clock.advance(by: .seconds(120))
    #expect(screen.pending == 0 && screen.status.openings == 1 && screen.currentState.route?.id == 1)
  }

  @Test("A login with another user's token fails offline, and online shows nothing of the former user")
  func otherToken() throws {
    let (clock, server) = (VirtualClock(), FakeServer())
    let client = try LockstepClient(store: .memory, transport: server, clock: clock)
    let settings = client.defaults()
    clock.start {
      try? await client.logIn(email: "ada@example.com", password: "p")
      _ = try? await settings.set("name", "Ada")
      try? await client.logOut(keepsCopy: true)
    }
    clock.settle()
    #expect(settings.value("name") == "Ada")
    let failures = Recorded<[Bool]>()
    server.goOffline()
    clock.start {
      let login = await Result { try await client.logIn(token: "token of eve@example.com") }.isFailure
      failures.set([login, await Result { try await settings.set("name", "Eve") }.isFailure])
    }
    clock.settle()
    #expect(failures.value == [true, true] && settings.value("name") == "Ada")
    server.goOnline()
    clock.start { try? await client.logIn(token: "token of eve@example.com") }
    clock.settle()
    #expect(settings.keys.isEmpty && client.status.pending == 0)
  }

  @Test("An action without a type comes out of the failures, and the error says how to write it")
  func untyped() throws {
    let fixture = try ScreenFixture()
    let screen: RemoteScreen<UntypedAction, Form.State> = fixture.client.screen("form", initially: Form.State())
    let reason = Recorded<String>()
    fixture.clock.start { for await failure in screen.failures().ignoringLosses { reason.set("\(failure.failure)") } }
    fixture.settle()
    screen.send(.save)
    fixture.settle()
    #expect(reason.value?.contains("an object with a `type`: see ScreenAction") == true && screen.pending == 0)
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }

  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
