import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("A remote screen that the server has lost", .timeLimit(.minutes(10)))
struct LostScreenTests {
  private static let restoring: @Sendable (Form.State, Form.State) -> [Form.Action] = { last, new in
    last.name == new.name ? [] : [.setName(last.name)]
  }

  private func fixture(restores: Bool = true) throws -> ScreenFixture {
    let fixture = try ScreenFixture(restoring: restores ? Self.restoring : nil)
    fixture.settle()
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    return fixture
  }

  @Test("A screen that has ended is opened again, and the view shows the new one")
  func reopening() throws {
    let fixture = try fixture(restores: false)
    #expect(fixture.screen.currentState.name == "Ada")
    fixture.server.endScreens()
    fixture.settle()
    #expect(fixture.screen.currentState.name.isEmpty)
    #expect(fixture.screen.status.openings == 2 && fixture.screen.status.connection == .live)
    fixture.screen.send(.setName("Grace"))
    fixture.settle()
    #expect(fixture.screen.currentState.name == "Grace" && fixture.failures.values.isEmpty)
  }

  @Test("Actions for a screen that has ended are not performed on the new one")
  func waitingActions() throws {
    let fixture = try fixture(restores: false)
    fixture.server.goOffline()
    fixture.settle()
    fixture.screen.send(.setName("Grace"))
    fixture.screen.send(.save)
    fixture.server.endScreens()
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.openings == 2 && fixture.screen.currentState == Form.State())
    let reason = "The screen has ended, so this action was not performed."
    #expect(fixture.failures.values == ["setName(\"Grace\"): \(reason)", "save: \(reason)"])
  }

  @Test("Actions that wait for the first screen are not performed for another session")
  func otherSession() throws {
    let fixture = try ScreenFixture()
    fixture.server.goOffline()
    fixture.settle()
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    fixture.clock.start { [client = fixture.client] in try? await client.logIn(token: "another token") }
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.connection == .live && fixture.screen.currentState == Form.State())
    let reason = "The screen has ended, so this action was not performed."
    #expect(fixture.failures.values == ["setName(\"Ada\"): \(reason)"])
  }

  @Test("Typed text is restored before the new screen is shown, and waiting actions follow")
  func restoration() throws {
    let fixture = try fixture()
    let names = Collected<String>()
    fixture.clock.start { [screen = fixture.screen] in for await state in screen.states { names.add(state.name) } }
    fixture.server.goOffline()
    fixture.settle()
    fixture.screen.send(.save)
    fixture.server.endScreens()
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.openings == 2 && fixture.failures.values.isEmpty)
    #expect(fixture.screen.currentState.saved == ["Ada"])
    #expect(Set(names.values) == ["Ada"])
  }

  @Test("An action that the lost screen may have performed is not repeated")
  func unknownOutcome() throws {
    let fixture = try fixture()
    fixture.server.loseNextResponse()
    fixture.screen.send(.tap(1))
    fixture.settle()
    fixture.screen.send(.tap(2))
    fixture.server.endScreens()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.currentState == Form.State(name: "Ada", route: .init(id: 1, row: 2)))
    let reason = "The screen has ended before it confirmed this action, which it may have performed."
    #expect(fixture.failures.values == ["tap(1): \(reason)"])
  }

  @Test("A response that restores a screen may be lost, and so may the screen")
  func lostRestoration() throws {
    let fixture = try fixture()
    fixture.server.goOffline()
    fixture.settle()
    fixture.server.endScreens()
    fixture.server.goOnline()
    // The first lost response is that to the opening, the second that to the restoration.
    fixture.server.loseNextResponse()
    fixture.server.loseNextResponse()
    fixture.clock.advance(by: .seconds(120))
    #expect(fixture.screen.currentState.name == "Ada" && fixture.screen.status.openings == 2)
    fixture.server.endScreens()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.currentState.name == "Ada" && fixture.screen.status.openings == 3)
  }

  @Test("After the end of the session, the screen waits for a login")
  func login() throws {
    let fixture = try fixture()
    fixture.server.revokeSession("token")
    fixture.settle()
    #expect(fixture.screen.status.connection == .needsLogin)
    fixture.clock.start { [client = fixture.client] in try? await client.logIn(email: "ada", password: "") }
    fixture.clock.advance(by: .seconds(5))
    #expect(fixture.screen.status.connection == .live && fixture.screen.status.openings == 2)
    // It may be another user.
    #expect(fixture.screen.currentState.name.isEmpty)
  }

  @Test("The screen of one user is not restored for another one")
  func otherUser() throws {
    let fixture = try ScreenFixture(token: nil, restoring: Self.restoring)
    let logIn = { (name: String) in
      fixture.clock.start { [client = fixture.client] in try? await client.logIn(email: name, password: "") }
      fixture.clock.advance(by: .seconds(5))
    }
    logIn("ada")
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    fixture.screen.send(.setName("Ada"))
    logIn("grace")
    fixture.clock.advance(by: .seconds(40))
    #expect(fixture.screen.status.openings == 2 && fixture.screen.currentState.name.isEmpty)
  }

  @Test("The same user, who has logged in again, keeps what was typed")
  func sameUser() throws {
    let fixture = try ScreenFixture(token: nil, restoring: Self.restoring)
    let logIn = { (name: String) in
      fixture.clock.start { [client = fixture.client] in try? await client.logIn(email: name, password: "") }
      fixture.clock.advance(by: .seconds(5))
    }
    logIn("ada")
    fixture.screen.send(.setName("Ada"))
    fixture.settle()
    fixture.server.endScreens()
    logIn("ada")
    #expect(fixture.screen.status.openings == 2 && fixture.screen.currentState.name == "Ada")
  }
}
