import LockstepReactor
import LockstepReactorTesting
import Testing

private struct Alerting: Reactor {
  struct State: Sendable, Equatable {
    @Pulse var alert: String?
    var count = 0
  }
  enum Action: Sendable { case alert(String?), count, replace(String), replaceAndCarryOver(String) }

  var initialState: State { State() }

  static func reduce(_ state: inout State, _ mutation: Action) {
    switch mutation {
    case .alert(let text): state.alert = text
    case .count: state.count += 1
    case .replace(let text):
      state = State()
      state.alert = text
    case .replaceAndCarryOver(let text):
      var new = State()
      new.$alert = state.$alert
      new.alert = text
      state = new
    }
  }
}

@Suite("Pulse", .timeLimit(.minutes(10)))
struct PulseTests {
  @Test("A pulse notifies on every assignment, even of an equal value, and on no other change")
  func pulse() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Alerting())
    let alerts = scheduler.observe(world.host.states.pulse(\.$alert), from: 50)
    world.send(100, .alert("no network"))
    world.send(110, .count)
    world.send(120, .alert("no network"))
    world.send(130, .alert(nil))
    world.send(140, .alert(nil))
    scheduler.start()
    #expect(
      alerts.events == [
        .next(50, nil), .next(100, "no network"), .next(120, "no network"), .next(130, nil), .next(140, nil),
        .completed(1000),
      ]
    )
  }

  @Test("A new state with a fresh pulse notifies of a new value, although its count starts at zero")
  func replacedState() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Alerting())
    let alerts = scheduler.observe(world.host.states.pulse(\.$alert), from: 50)
    world.send(100, .replace("no network"))
    world.send(110, .replace("no space"))
    world.send(120, .count)
    scheduler.start()
    #expect(alerts.elements == [nil, "no network", "no space"])
  }

  @Test("A pulse that is carried over to a new state continues counting, and notifies of an equal value too")
  func carriedOver() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Alerting())
    let alerts = scheduler.observe(world.host.states.pulse(\.$alert), from: 50)
    world.send(100, .alert("no network"))
    world.send(110, .replaceAndCarryOver("no network"))
    scheduler.start()
    #expect(alerts.events == [.next(50, nil), .next(100, "no network"), .next(110, "no network"), .completed(1000)])
  }

  @Test("A distinct part of the state notifies only when that part differs")
  func distinctPart() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Alerting())
    let counts = scheduler.observe(world.host.states.distinct(\.count), from: 50)
    world.send(100, .alert("x"))
    world.send(110, .count)
    world.send(120, .alert("x"))
    scheduler.start()
    #expect(counts.events == [.next(50, 0), .next(110, 1), .completed(1000)])
  }

  @Test("Pulses are equal if their values and numbers of assignments are equal")
  func equality() {
    var pulse = Pulse(wrappedValue: 1)
    let before = pulse
    #expect(pulse == before)
    pulse.wrappedValue = 1
    #expect(pulse != before)
    #expect(pulse.count == 1)
  }

  @Test("A pulse counts how often it fired: clearing it does not count, and clearing it twice changes nothing")
  func fired() {
    var state = Alerting.State()
    state.alert = nil
    #expect(state.$alert.fired == 0)
    for count in 1...2 {
      state.alert = "no network"
      #expect(state.$alert.fired == count)
    }
    state.$alert.clear()
    #expect(state.alert == nil && state.$alert.fired == 2)
    let cleared = state
    state.$alert.clear()
    #expect(state == cleared)
    state.alert = "no space"
    #expect(state.$alert.fired == 3)
  }
}
