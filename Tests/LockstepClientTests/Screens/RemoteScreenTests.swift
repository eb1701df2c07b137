import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import Testing

/// The code of a view: it types, saves, and reads the states that it would show.
private func useForm(_ form: some ViewModel<Form.Action, Form.State>, _ scheduler: TestScheduler) -> TestObserver<
  String
> {
  let observer = scheduler.createObserver(String.self)
  scheduler.scheduleAt(10) {
    #expect(form.send(.setName("Ada")) == .accepted)
    #expect(form.send(.save) == .accepted)
  }
  let texts = form.states.distinct {
    "\($0.name)\($0.isSaving ? ", saving" : "")\($0.saved.map { ", saved \($0)" }.joined())"
  }
  scheduler.bind(texts, to: observer, from: 5, until: 30)
  return observer
}

@Suite("A remote screen", .timeLimit(.minutes(10)))
struct RemoteScreenTests {
  @Test("The same view code works with a local reactor and with a screen of the server")
  func sameView() throws {
    let local = TestScheduler()
    let host = ReactorHost(Form(clock: local.clock))
    local.run(from: 0, until: 100) { await host.run() }
    let seenLocally = useForm(host, local)
    local.advance(to: 100)

    let fixture = try ScreenFixture()
    let seen = useForm(fixture.screen, fixture.scheduler)
    fixture.scheduler.advance(to: 100)
    #expect(seenLocally.events == [.next(5, ""), .next(10, "Ada, saving"), .next(12, "Ada, saved Ada")])
    #expect(seen.events == seenLocally.events)
  }

  @Test("A screen shows the given state until the server has opened it, and is closed at the end")
  func life() throws {
    let fixture = try ScreenFixture()
    #expect(fixture.screen.currentState.name == "…" && fixture.screen.status.connection == .stopped)
    fixture.settle()
    #expect(fixture.screen.currentState.name.isEmpty && fixture.screen.status.connection == .live)
    #expect(fixture.server.openCount == 1 && fixture.screen.status.openings == 1)
    fixture.running.cancel()
    fixture.settle()
    #expect(fixture.server.openCount == 0 && fixture.screen.status.connection == .stopped)
    #expect(fixture.screen.send(.save) == .closed)
    #expect(fixture.requests.last == "DELETE /v1/reactors/form/1")
  }

  @Test("Actions that were sent before the screen is open are performed in their order")
  func early() throws {
    let fixture = try ScreenFixture(capacity: 3)
    for row in 1...3 { #expect(fixture.screen.send(.tap(row)) == .accepted) }
    #expect(fixture.screen.send(.tap(4)) == .full)
    #expect(fixture.screen.pending == 3)
    fixture.settle()
    #expect(fixture.screen.currentState.route == Form.Route(id: 3, row: 3))
    #expect(fixture.screen.pending == 0 && fixture.screen.send(.tap(4)) == .accepted)
  }

  @Test("A screen gets its arguments, also from a link")
  func arguments() throws {
    let fixture = try ScreenFixture()
    let named: ScreenFixture.Screen = fixture.client.screen("form", arguments: ["name": "Ada"], initially: .init())
    let linked: ScreenFixture.Screen = fixture.client.screen(at: "/v1/reactors/form?name=Grace%20H", initially: .init())
    fixture.clock.start { await named.run() }
    fixture.clock.start { await linked.run() }
    fixture.settle()
    #expect(named.currentState.name == "Ada" && linked.currentState.name == "Grace H")
  }

  @Test("A refused action comes out of the failures, and the others are performed")
  func refused() throws {
    let fixture = try ScreenFixture()
    fixture.settle()
    // The first is sent alone. The others wait, and go together.
    for action in [Form.Action.tap(1), .tap(2), .save, .setName("Ada"), .save] { fixture.screen.send(action) }
    fixture.settle()
    #expect(fixture.failures.values == ["save: There is no name."])
    #expect(fixture.screen.currentState.route == Form.Route(id: 2, row: 2))
    #expect(fixture.screen.currentState.name == "Ada" && fixture.screen.currentState.isSaving)
    #expect(fixture.screen.status.connection == .live)
  }

  @Test("An action whose response was lost is performed once")
  func lostResponse() throws {
    let fixture = try ScreenFixture()
    fixture.settle()
    fixture.server.loseNextResponse()
    fixture.screen.send(.tap(1))
    fixture.settle()
    #expect(fixture.screen.status.connection == .offline)
    fixture.clock.advance(by: .seconds(1))
    #expect(fixture.screen.status.connection == .live && fixture.screen.pending == 0)
    #expect(fixture.screen.currentState.route == Form.Route(id: 1, row: 1))
    #expect(fixture.server.requests.count { $0.target.hasSuffix("/actions") } == 2)
  }

  @Test("The response that opens a screen may be lost: no second screen is opened")
  func lostOpening() throws {
    let fixture = try ScreenFixture()
    fixture.server.loseNextResponse()
    fixture.clock.advance(by: .seconds(2))
    #expect(fixture.screen.status.connection == .live && fixture.server.openCount == 1)
  }

  @Test("A poll begins again when the client's own connection has changed, because it may be dead")
  func deadPoll() throws {
    let fixture = try ScreenFixture()
    fixture.clock.start { [client = fixture.client] in await client.run() }
    fixture.settle()
    let polls = fixture.requests.count
    fixture.others.goOffline()
    fixture.settle()
    #expect(fixture.client.status.connection == .offline && fixture.screen.status.connection == .live)
    #expect(fixture.requests.dropFirst(polls) == ["GET /v1/reactors/form/1?wait=30"])
  }

  @Test("Without a network, a screen waits longer after each attempt, and then goes on with the same screen")
  func offline() throws {
    let fixture = try ScreenFixture(tick: .milliseconds(1))
    fixture.settle()
    fixture.server.goOffline()
    fixture.screen.send(.tap(1))
    let connections = fixture.scheduler.observe(
      fixture.screen.statuses.distinct(\.connection),
      from: 100,
      until: nil
    )
    fixture.scheduler.advance(to: 6_000)
    fixture.server.goOnline()
    fixture.scheduler.advance(to: 9_000)
    #expect(
      connections.events == [
        .next(100, .offline), .next(475, .connecting), .next(475, .offline), .next(1_225, .connecting),
        .next(1_225, .offline), .next(2_725, .connecting), .next(2_725, .offline), .next(5_725, .connecting),
        .next(5_725, .offline),
      ]
    )
    fixture.scheduler.advance(to: 12_000)
    #expect(fixture.screen.status.connection == .live && fixture.screen.status.openings == 1)
    #expect(fixture.screen.currentState.route == Form.Route(id: 1, row: 1))
  }
}
