import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepHTTPServer

@Suite("The connection state machine: every event in every state", .timeLimit(.minutes(10)))
struct ConnectionStateMachineTests {
  private typealias Machine = ConnectionStateMachine
  private typealias Event = (name: String, perform: @Sendable (inout Machine) -> Machine.Action)

  private static let second: Int64 = 1_000_000_000
  private static let bounds = ConnectionBounds(Limits())
  private static let keepAlive = ResponseSerializer.Exchange(isHead: false, isVersion11: true, keepsAlive: true)

  // MARK: States, each reached by events as in a connection

  private static let responding = after { _ = $0.headArrived(keepAlive) }
  private static let handling = after(responding) { _ = $0.taskStarted() }
  private static let writing = after(responding) {
    _ = $0.responded(mustFlush: true, unreadBody: nil, now: 0)
    _ = $0.blocked(pending: 1_000_000, now: 0)
  }
  private static let ending = after {
    _ = $0.refused(mayBeSending: true)
    _ = $0.blocked(pending: 1_000_000, now: 0)
  }

  private static let states: [(name: String, machine: Machine)] = [
    ("new", after { _ in }),
    ("idle", after { _ = $0.inputDry(hasBegunHead: false, received: 0, now: 0) }),
    ("in a head", after { _ = $0.inputDry(hasBegunHead: true, received: 0, now: 0) }),
    ("responding", responding),
    ("handling", handling),
    ("handling, waits for input", after(handling) { $0.handlerWaits(for: .input) }),
    ("handling, waits for output", after(handling) { $0.handlerWaits(for: .output) }),
    ("parked", after(responding) { _ = $0.parked(until: 60 * second) }),
    ("streaming", after(responding) { _ = $0.streamBegan() }),
    ("writing", writing),
    ("ending", ending),
    ("discarding a body", after(responding) { _ = $0.responded(mustFlush: false, unreadBody: 10, now: 0) }),
    ("lingering", after(ending) { _ = $0.drained(hasUnreadInput: true, sourceDeadline: .max, now: 0) }),
    ("closed", after { _ = $0.streamFailed() }),
  ]

  private static func after(
    _ start: Machine = Machine(bounds: bounds),
    _ events: (inout Machine) -> Void
  ) -> Machine {
    var machine = start
    events(&machine)
    return machine
  }

  // MARK: Events at a time of one second

  private static let events: [Event] = [
    ("next", { $0.next }),
    ("half-closed", { $0.socketChanged(isFinished: true, isGone: false) }),
    ("gone", { $0.socketChanged(isFinished: true, isGone: true) }),
    ("deadline passed", { $0.deadlinePassed() }),
    ("woken", { $0.woken() }),
    ("drain", { $0.drain() }),
    ("cut", { $0.cut() }),
    ("head", { $0.headArrived(keepAlive) }),
    ("dry", { $0.inputDry(hasBegunHead: false, received: 10, now: second) }),
    ("dry in a head", { $0.inputDry(hasBegunHead: true, received: 10, now: second) }),
    ("input ended", { $0.inputEnded() }),
    ("body discarded", { $0.bodyDiscarded() }),
    ("input discarded", { $0.inputDiscarded(1000) }),
    ("too much discarded", { $0.inputDiscarded(2 * 1024 * 1024) }),
    ("responded", { $0.responded(mustFlush: false, unreadBody: nil, now: second) }),
    ("responded at length", { $0.responded(mustFlush: true, unreadBody: nil, now: second) }),
    ("responded before the body", { $0.responded(mustFlush: false, unreadBody: 20, now: second) }),
    ("refused", { $0.refused(mayBeSending: false) }),
    ("task started", { $0.taskStarted() }),
    (
      "task ended",
      {
        $0.taskEnded()
        return .wait
      }
    ),
    ("stream failed", { $0.streamFailed() }),
    ("parked", { $0.parked(until: 30 * second) }),
    ("stream began", { $0.streamBegan() }),
    ("piece", { $0.sourceGave(.bytes([])) }),
    ("no piece", { $0.sourceGave(.nothing) }),
    ("last piece", { $0.sourceGave(.end) }),
    ("drained", { $0.drained(hasUnreadInput: false, sourceDeadline: 15 * second, now: second) }),
    ("blocked", { $0.blocked(pending: 50, now: second) }),
  ]

  /// For each state, the events that have an effect: the next state, the action, and the deadline
  /// if it changes.
  private static let table: [String: [String: String]] = [
    "new": [
      "next": "new: readHead",
      "half-closed": "new: readHead",
      "gone": "new: readHead",
      "deadline passed": "new: readHead",
      "drain": "new: readHead",
      "cut": "new: readHead",
      "head": "responding: respond",
      "dry": "idle: flush, deadline 76 s",
      "dry in a head": "in a head: flush, deadline 11 s",
      "input ended": "writing: flush",
      "refused": "writing: flush",
      "stream failed": "closed: close",
      "blocked": "writing: wait, deadline 31 s",
    ],
    "idle": [
      "next": "idle: readHead",
      "half-closed": "idle: readHead",
      "gone": "idle: readHead",
      "deadline passed": "idle: readHead, no deadline",
      "drain": "idle: readHead",
      "cut": "idle: readHead",
      "head": "responding: respond, no deadline",
      "dry": "idle: flush",
      "dry in a head": "in a head: flush, deadline 11 s",
      "input ended": "writing: flush, no deadline",
      "refused": "writing: flush, no deadline",
      "stream failed": "closed: close",
      "blocked": "writing: wait, deadline 31 s",
    ],
    "in a head": [
      "next": "in a head: readHead",
      "half-closed": "in a head: readHead",
      "gone": "in a head: readHead",
      "deadline passed": "in a head: readHead, no deadline",
      "drain": "in a head: readHead",
      "cut": "in a head: readHead",
      "head": "responding: respond, no deadline",
      "dry": "idle: flush, deadline 76 s",
      "dry in a head": "in a head: flush",
      "input ended": "writing: flush, no deadline",
      "refused": "writing: flush, no deadline",
      "stream failed": "closed: close",
      "blocked": "writing: wait, deadline 31 s",
    ],
    "responding": [
      "responded": "new: readHead",
      "responded at length": "writing: flush",
      "responded before the body": "discardingBody(bound: 65556): discardBody(bound: 65556), deadline 11 s",
      "refused": "writing: flush",
      "task started": "handling(nothing): serveHandler(cancels: false)",
      "stream failed": "closed: close",
      "parked": "parked(isWoken: false): wait, deadline 30 s",
      "stream began": "streaming(isWoken: true): flush",
    ],
    "handling": [
      "next": "handling(nothing): serveHandler(cancels: false)",
      "half-closed": "handling(nothing): serveHandler(cancels: true)",
      "gone": "handling(nothing): serveHandler(cancels: true)",
      "deadline passed": "handling(nothing): serveHandler(cancels: false)",
      "drain": "handling(nothing): serveHandler(cancels: true)",
      "cut": "handling(nothing): serveHandler(cancels: true)",
      "task ended": "responding: wait",
      "stream failed": "closed: close",
      "blocked": "handling(nothing): wait, deadline 31 s",
    ],
    "handling, waits for input": [
      "next": "handling(input): serveHandler(cancels: false)",
      "half-closed": "handling(input): serveHandler(cancels: true)",
      "gone": "handling(input): serveHandler(cancels: true)",
      "deadline passed": "handling(input): serveHandler(cancels: false)",
      "drain": "handling(input): serveHandler(cancels: true)",
      "cut": "handling(input): serveHandler(cancels: true)",
      "task ended": "responding: wait",
      "stream failed": "closed: close",
      "blocked": "handling(input): wait, deadline 31 s",
    ],
    "handling, waits for output": [
      "next": "handling(output): serveHandler(cancels: false)",
      "half-closed": "handling(output): serveHandler(cancels: true)",
      "gone": "handling(output): serveHandler(cancels: true)",
      "deadline passed": "handling(output): serveHandler(cancels: false)",
      "drain": "handling(output): serveHandler(cancels: true)",
      "cut": "handling(output): serveHandler(cancels: true)",
      "task ended": "responding: wait",
      "stream failed": "closed: close",
      "blocked": "handling(output): wait, deadline 31 s",
    ],
    "parked": [
      "next": "parked(isWoken: false): flush",
      "half-closed": "parked(isWoken: false): flush",
      "gone": "parked(isWoken: false): flush",
      "deadline passed": "parked(isWoken: false): flush, no deadline",
      "woken": "parked(isWoken: true): flush",
      "drain": "parked(isWoken: false): flush",
      "cut": "parked(isWoken: false): flush",
      "stream failed": "closed: close",
    ],
    "streaming": [
      "next": "streaming(isWoken: true): flush",
      "half-closed": "streaming(isWoken: true): flush",
      "gone": "streaming(isWoken: true): flush",
      "deadline passed": "streaming(isWoken: true): flush",
      "woken": "streaming(isWoken: true): flush",
      "drain": "streaming(isWoken: true): flush",
      "cut": "streaming(isWoken: true): flush",
      "stream failed": "closed: close",
      "piece": "streaming(isWoken: true): flush",
      "no piece": "streaming(isWoken: true): flush",
      "last piece": "responding: endStream",
      "drained": "streaming(isWoken: false): askSource(woken)",
      "blocked": "streaming(isWoken: true): wait, deadline 31 s",
    ],
    "writing": [
      "next": "writing: flush",
      "half-closed": "writing: flush",
      "gone": "writing: flush",
      "deadline passed": "writing: flush, no deadline",
      "drain": "writing: flush",
      "cut": "writing: flush",
      "stream failed": "closed: close",
      "drained": "new: readHead, no deadline",
    ],
    "ending": [
      "next": "writing: flush",
      "half-closed": "writing: flush",
      "gone": "writing: flush",
      "deadline passed": "writing: flush, no deadline",
      "drain": "writing: flush",
      "cut": "writing: flush",
      "stream failed": "closed: close",
      "drained": "lingering(discarded: 0): finishWriting, deadline 3 s",
    ],
    "discarding a body": [
      "next": "discardingBody(bound: 65546): discardBody(bound: 65546)",
      "half-closed": "discardingBody(bound: 65546): discardBody(bound: 65546)",
      "gone": "discardingBody(bound: 65546): discardBody(bound: 65546)",
      "deadline passed": "discardingBody(bound: 65546): discardBody(bound: 65546), no deadline",
      "drain": "discardingBody(bound: 65546): discardBody(bound: 65546)",
      "cut": "discardingBody(bound: 65546): discardBody(bound: 65546)",
      "dry": "discardingBody(bound: 65546): flush",
      "dry in a head": "discardingBody(bound: 65546): flush",
      "input ended": "writing: flush, no deadline",
      "body discarded": "new: readHead, no deadline",
      "stream failed": "closed: close",
    ],
    "lingering": [
      "next": "lingering(discarded: 0): discardInput",
      "half-closed": "lingering(discarded: 0): discardInput",
      "gone": "lingering(discarded: 0): discardInput",
      "deadline passed": "lingering(discarded: 0): discardInput, no deadline",
      "drain": "lingering(discarded: 0): discardInput",
      "cut": "lingering(discarded: 0): discardInput",
      "input ended": "closed: close",
      "input discarded": "lingering(discarded: 1000): discardInput",
      "too much discarded": "closed: close",
      "stream failed": "closed: close",
    ],
    "closed": [
      "next": "closed: close",
      "half-closed": "closed: close",
      "gone": "closed: close",
      "deadline passed": "closed: close",
      "drain": "closed: close",
      "cut": "closed: close",
      "stream failed": "closed: close",
    ],
  ]

  @Test("Each pair of a state and an event has the outcome in the table; all other events change nothing")
  func table() {
    for (state, start) in Self.states {
      for event in Self.events {
        var machine = start
        let action = event.perform(&machine)
        let expected = Self.table[state]?[event.name] ?? Self.outcome(start, .wait, before: start)
        let outcome = Self.outcome(machine, action, before: start)
        #expect(outcome == expected, "\(event.name) while \(state)")
      }
    }
  }

  private static func outcome(_ machine: Machine, _ action: Machine.Action, before: Machine) -> String {
    var text = "\(machine.state): \(action)"
    if machine.deadline == .max, before.deadline != .max { text += ", no deadline" }
    if machine.deadline != .max, machine.deadline != before.deadline {
      text += ", deadline \(machine.deadline / second) s"
    }
    return text.replacing("readingHead(hasBegun: nil)", with: "new")
      .replacing("readingHead(hasBegun: Optional(false))", with: "idle")
      .replacing("readingHead(hasBegun: Optional(true))", with: "in a head")
      .replacing("LockstepHTTPServer.ConnectionStateMachine.HandlerWait.", with: "")
      .replacing("LockstepHTTP.WakeReason.", with: "")
  }

  // MARK: Sequences

  @Test("No sequence of events reopens a closed connection")
  func random() {
    var numbers = SeededNumbers(seed: 1)
    for _ in 0..<2000 {
      var machine = Machine(bounds: Self.bounds, isSurplus: Bool.random(using: &numbers))
      for _ in 0..<100 {
        let wasClosed = machine.state == .closed
        _ = Self.events.randomElement(using: &numbers)?.perform(&machine)
        #expect(!wasClosed || machine.state == .closed)
      }
    }
  }

  @Test(
    "An idle connection is closed after its timeout, and a head that has begun gets 408",
    arguments: [false, true]
  )
  func headTime(hasBegun: Bool) {
    var machine = Machine(bounds: Self.bounds)
    #expect(machine.inputDry(hasBegunHead: hasBegun, received: 0, now: 0) == .flush)
    #expect(machine.deadline == (hasBegun ? 10 : 75) * Self.second)
    #expect(machine.deadlinePassed() == .readHead)
    #expect(
      machine.inputDry(hasBegunHead: hasBegun, received: 0, now: machine.deadline) == .timeOutHead(hasBegun: hasBegun)
    )
  }

  @Test(
    "A connection above the limit is refused after its request, or after two seconds",
    arguments: [false, true]
  )
  func surplus(asks: Bool) {
    var machine = Machine(bounds: Self.bounds, isSurplus: true)
    _ = machine.inputDry(hasBegunHead: false, received: 0, now: 0)
    #expect(machine.deadline == 2 * Self.second)
    if asks {
      #expect(machine.headArrived(Self.keepAlive) == .turnAway(hasHead: true))
    } else {
      _ = machine.deadlinePassed()
      #expect(machine.inputDry(hasBegunHead: true, received: 0, now: 2 * Self.second) == .turnAway(hasHead: false))
    }
    #expect(machine.refused(mayBeSending: true) == .flush)
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: 0) == .finishWriting)
  }

  @Test(
    "While the server shuts down, an idle connection is closed, and a head that has begun gets one second for each part"
  )
  func draining() {
    var machine = Machine(bounds: Self.bounds)
    _ = machine.inputDry(hasBegunHead: true, received: 0, now: 0)
    #expect(machine.drain() == .readHead)
    _ = machine.inputDry(hasBegunHead: true, received: 0, now: 5 * Self.second)
    #expect(machine.deadline == 6 * Self.second)
    _ = machine.inputDry(hasBegunHead: true, received: 0, now: 9 * Self.second + 1)
    #expect(machine.deadline == 10 * Self.second)
    _ = machine.headArrived(Self.keepAlive)
    machine.decideKeepAlive(isStreamed: false, canSkipBody: true)
    #expect(!machine.exchange.keepsAlive)
    _ = machine.responded(mustFlush: false, unreadBody: nil, now: 0)
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: 0) == .close)

    machine = Machine(bounds: Self.bounds)
    _ = machine.drain()
    _ = machine.inputDry(hasBegunHead: false, received: 0, now: 0)
    #expect(machine.state == .writing)
  }

  @Test(
    "A parked request is asked for its response when there is a reason, and learns the reason",
    arguments: [("woken", "woken"), ("half-closed", "leaving"), ("drain", "leaving"), ("deadline passed", "timeOver")]
  )
  func askedParked(event: String, cause: String) throws {
    var machine = Self.responding
    #expect(machine.parked(until: 60 * Self.second) == .wait)
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: 0) == .wait)
    #expect(try #require(Self.events.first { $0.name == event }).perform(&machine) == .flush)
    let action = machine.blocked(pending: 5, now: 0)
    #expect(Self.outcome(machine, action, before: machine) == "responding: askParked(\(cause))")
    #expect(machine.deadline == .max)
  }

  @Test("After a client has disconnected, its parked request or stream gets no response and no lingering")
  func gone() {
    for name in ["parked", "streaming", "ending"] {
      guard var machine = Self.states.first(where: { $0.name == name })?.machine else { continue }
      _ = machine.cut()
      #expect(machine.drained(hasUnreadInput: true, sourceDeadline: .max, now: 0) == .close)
    }
  }

  @Test("A stream without output waits for the deadline of its source, and ends when the server shuts down")
  func stream() {
    var machine = Self.responding
    _ = machine.streamBegan()
    _ = machine.drained(hasUnreadInput: false, sourceDeadline: 15 * Self.second, now: 0)
    #expect(machine.sourceGave(.nothing) == .flush)
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: 15 * Self.second, now: 0) == .wait)
    #expect(machine.deadline == 15 * Self.second)
    _ = machine.deadlinePassed()
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: 0) == .askSource(.timeOver))
    _ = machine.drain()
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: 0) == .askSource(.leaving))
    #expect(machine.sourceGave(.nothing) == .endStream)
  }

  @Test("A connection is kept if both sides want it and the start of the next request is known")
  func keepAlive() {
    for (isStreamed, isVersion11, canSkipBody, keeps) in [
      (false, true, true, true), (true, true, true, true), (true, false, true, false), (false, false, true, true),
      (false, true, false, false),
    ] {
      var machine = Machine(bounds: Self.bounds)
      let exchange = ResponseSerializer.Exchange(isHead: false, isVersion11: isVersion11, keepsAlive: true)
      _ = machine.headArrived(exchange)
      machine.decideKeepAlive(isStreamed: isStreamed, canSkipBody: canSkipBody)
      #expect(machine.exchange.keepsAlive == keeps)
    }
  }

  @Test(
    "A client that takes output at the minimum rate gets more time, and a slower one is disconnected",
    arguments: ["writing", "streaming", "handling, waits for output"]
  )
  func outputRate(state: String) throws {
    var machine = try #require(Self.states.first { $0.name == state }).machine
    // The minimum for 30 s at 1 KiB/s.
    let least = 30 * 1024
    var pending = 1_000_000
    _ = machine.blocked(pending: pending, now: 0)
    for time in 1...3 {
      _ = machine.deadlinePassed()
      pending -= least
      #expect(machine.blocked(pending: pending, now: Int64(time) * 30 * Self.second) == .wait)
      #expect(machine.deadline == Int64(time + 1) * 30 * Self.second)
      // Before that time, the rate is not checked.
      #expect(machine.blocked(pending: pending, now: Int64(time) * 30 * Self.second + 1) == .wait)
    }
    _ = machine.deadlinePassed()
    #expect(machine.blocked(pending: pending - least + 1, now: 120 * Self.second) == .giveUp)
    #expect(machine.client == .gone)
    #expect(machine.state == .closed || machine.canResumeHandler(hasInput: false, isDrained: false))
  }

  @Test("Output that is taken within its time leaves no deadline behind")
  func outputTaken() {
    var machine = Self.writing
    #expect(machine.drained(hasUnreadInput: false, sourceDeadline: .max, now: Self.second) == .readHead)
    #expect(machine.deadline == .max)
    machine = Self.after(Self.handling) { _ = $0.blocked(pending: 100, now: 0) }
    machine.handlerDrained(restoring: 7 * Self.second)
    #expect(machine.deadline == 7 * Self.second)
  }

  @Test("A connection that waits without output has no deadline for output", arguments: ["parked", "streaming"])
  func nothingToSend(state: String) throws {
    var machine = try #require(Self.states.first { $0.name == state }).machine
    var action = machine.next
    while action != .wait {
      action =
        if case .askSource = action {
          machine.sourceGave(.nothing)
        } else {
          machine.drained(hasUnreadInput: false, sourceDeadline: 60 * Self.second, now: 0)
        }
    }
    #expect(machine.deadline == 60 * Self.second)
  }
}
