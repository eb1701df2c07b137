import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Pulses of a remote screen", .timeLimit(.minutes(10)))
struct ScreenPulseTests {
  typealias Pulse = ScreenPulse<Form.Route>

  private func pulse(_ id: Int, row: Int, missed: Int = 0) -> Pulse {
    Pulse(value: Form.Route(id: id, row: row), missed: missed)
  }

  private func read(_ fixture: ScreenFixture) -> (Collected<Pulse>, Task<Void, Never>) {
    let pulses = Collected<Pulse>()
    let task = fixture.clock.start { [screen = fixture.screen] in
      for await pulse in screen.pulses(\.route) { pulses.add(pulse) }
    }
    fixture.settle()
    return (pulses, task)
  }

  @Test("Each tap on the same row fires once, and another change of the state does not fire")
  func once() throws {
    let fixture = try ScreenFixture()
    let (pulses, _) = read(fixture)
    for action in [Form.Action.tap(7), .setName("Ada"), .tap(7)] {
      fixture.screen.send(action)
      fixture.settle()
    }
    #expect(pulses.values == [pulse(1, row: 7), pulse(2, row: 7)])
  }

  @Test("A slow reader gets the number of pulses that it has missed")
  func missed() throws {
    let fixture = try ScreenFixture()
    let (pulses, _) = read(fixture)
    for row in 1...4 { fixture.screen.send(.tap(row)) }
    fixture.settle()
    #expect(pulses.values.last?.value == Form.Route(id: 4, row: 4))
    #expect(pulses.values.reduce(0) { $0 + 1 + $1.missed } == 4)
  }

  @Test("A pulse does not fire again after a new connection, or for a view that appears again")
  func again() throws {
    let fixture = try ScreenFixture()
    let (pulses, task) = read(fixture)
    fixture.screen.send(.tap(1))
    fixture.settle()
    fixture.server.goOffline()
    fixture.settle()
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.screen.status.connection == .live && pulses.values == [pulse(1, row: 1)])
    task.cancel()
    fixture.settle()
    let (others, _) = read(fixture)
    #expect(others.values.isEmpty)
    fixture.screen.send(.tap(2))
    fixture.settle()
    #expect(others.values == [pulse(2, row: 2)] && pulses.values.count == 1)
  }

  @Test("A pulse that no reader has seen comes first")
  func unseen() throws {
    let fixture = try ScreenFixture()
    fixture.settle()
    fixture.screen.send(.tap(1))
    fixture.settle()
    #expect(read(fixture).0.values == [pulse(1, row: 1)])
  }

  @Test("Two readers get each pulse")
  func twoReaders() throws {
    let fixture = try ScreenFixture()
    let (first, second) = (read(fixture).0, read(fixture).0)
    fixture.screen.send(.tap(1))
    fixture.settle()
    #expect(first.values == [pulse(1, row: 1)] && second.values == first.values)
  }

  @Test("The pulses of a screen that was opened again count from 1")
  func reopened() throws {
    let fixture = try ScreenFixture()
    let (pulses, _) = read(fixture)
    for action in [Form.Action.tap(1), .tap(2)] {
      fixture.screen.send(action)
      fixture.settle()
    }
    fixture.server.endScreens()
    fixture.settle()
    fixture.screen.send(.tap(3))
    fixture.settle()
    #expect(pulses.values == [pulse(1, row: 1), pulse(2, row: 2), pulse(1, row: 3)])
  }
}
