import LockstepReactor
import Synchronization
import Testing

/// Runs a reactor in virtual time and checks every state, error, effect and ignored action.
///
/// An event that the test does not assert is a failure: at the next `send`, at `finish`, or when
/// the test reactor is released.
///
///     let test = TestReactor(Search(service: .fake, clock: clock), clock: clock)
///     test.send(.type("swift")) { $0.query = "swift" }
///     test.advance(by: .milliseconds(300))
///     test.receive { $0.isSearching = true }
///     test.finish()
public final class TestReactor<R: Reactor> {
  /// The clock that the test moves. Pass the same clock to the reactor.
  public let clock: VirtualClock

  /// The last asserted state.
  public private(set) var state: R.State

  private let host: ReactorHost<R>
  private let record: TraceRecord<R>
  private let failures: FailureReporter
  private let origin: SourceLocation
  private let running: Task<Void, Never>
  private var isFinished = false

  /// Hosts a reactor and starts it. By default, failures are issues of Swift Testing.
  public init(
    _ reactor: R,
    clock: VirtualClock = VirtualClock(),
    failures: FailureReporter = .issue,
    location: SourceLocation = #_sourceLocation
  ) {
    self.clock = clock
    self.failures = failures
    origin = location
    let record = TraceRecord<R>()
    let host = ReactorHost(reactor, trace: { record.add($0) })
    self.record = record
    self.host = host
    state = host.currentState
    running = clock.start { await host.run() }
    clock.settle(location: location)
  }

  deinit {
    if isFinished { return }
    verifyNothingIsLeft(during: "the end of the test", allowedEffects: 0, origin)
    running.cancel()
  }

  /// Sends an action, runs all work that needs no time to pass, and asserts the states that come.
  /// Each closure turns the last asserted state into the next expected one.
  public func send(
    _ action: R.Action,
    _ changes: (inout R.State) -> Void...,
    location: SourceLocation = #_sourceLocation
  ) {
    verifyNothingWaits(before: "send(\(action))", location)
    if host.send(action) != .accepted {
      return failures.report(FailureText.refused("\(action)"), location)
    }
    assertStates(changes, "after send(\(action))", location)
  }

  /// Asserts the states that came since the last assertion, from effects and merged streams.
  public func receive(_ changes: (inout R.State) -> Void..., location: SourceLocation = #_sourceLocation) {
    assertStates(changes, "of receive()", location)
  }

  /// Asserts that an error was reported.
  public func receiveFailure(
    _ description: String = "an error",
    where matches: (any Error) -> Bool = { _ in true },
    location: SourceLocation = #_sourceLocation
  ) {
    clock.settle(location: location)
    guard let failure = record.take(\.failures) else {
      return failures.report(FailureText.noFailure(description), location)
    }
    if !matches(failure.error) {
      failures.report(FailureText.wrongFailure(description, failure), location)
    }
  }

  /// Asserts that an action was ignored: an effect of its lane runs, or a transform dropped it.
  public func receiveIgnored(
    _ description: String = "an action",
    where matches: (R.Action) -> Bool = { _ in true },
    location: SourceLocation = #_sourceLocation
  ) {
    clock.settle(location: location)
    guard let action = record.take(\.ignored) else {
      return failures.report(FailureText.noneIgnored(description), location)
    }
    if !matches(action) {
      failures.report(FailureText.wrongIgnored(description, action), location)
    }
  }

  /// Lets virtual time pass.
  public func advance(by duration: Duration, location: SourceLocation = #_sourceLocation) {
    clock.advance(by: duration, location: location)
  }

  /// Skips the states that are not asserted yet. The last of them becomes the current state.
  public func skipStates() {
    clock.settle()
    while let next = record.take(\.states) { state = next }
  }

  /// Ends the test. Every event must be asserted, and exactly `effects` effects must still run.
  public func finish(running effects: Int = 0, location: SourceLocation = #_sourceLocation) {
    clock.settle(location: location)
    isFinished = true
    verifyNothingIsLeft(during: "finish()", allowedEffects: effects, location)
    running.cancel()
    clock.settle(location: location)
  }
}

// MARK: Checks

extension TestReactor {
  private func assertStates(_ changes: [(inout R.State) -> Void], _ moment: String, _ location: SourceLocation) {
    clock.settle(location: location)
    for (index, change) in changes.enumerated() {
      assertNextState("State \(index + 1) of \(changes.count) \(moment)", change, location)
    }
  }

  private func assertNextState(_ title: String, _ change: (inout R.State) -> Void, _ location: SourceLocation) {
    var expected = state
    change(&expected)
    guard let actual = record.take(\.states) else {
      let text =
        expected == state
        ? FailureText.noChange(title) : FailureText.noState(title, difference(expected: expected, actual: state))
      return failures.report(text, location)
    }
    if actual != expected {
      failures.report(FailureText.wrongState(title, difference(expected: expected, actual: actual)), location)
    }
    state = actual
  }

  private func verifyNothingWaits(before moment: String, _ location: SourceLocation) {
    clock.settle(location: location)
    var previous = state
    var differences: [String] = []
    while let next = record.take(\.states) {
      differences.append(difference(expected: previous, actual: next))
      previous = next
    }
    state = previous
    if !differences.isEmpty { failures.report(FailureText.unassertedStates(moment, differences), location) }
    let errors = Array(sequence(state: ()) { [record] _ in record.take(\.failures) })
    if !errors.isEmpty { failures.report(FailureText.unassertedFailures(moment, errors), location) }
    let ignored = Array(sequence(state: ()) { [record] _ in record.take(\.ignored) })
    if !ignored.isEmpty { failures.report(FailureText.unassertedIgnored(moment, ignored), location) }
  }

  private func verifyNothingIsLeft(during moment: String, allowedEffects: Int, _ location: SourceLocation) {
    verifyNothingWaits(before: moment, location)
    let effects = record.runningEffects
    if effects.count == allowedEffects { return }
    failures.report(FailureText.runningEffects(moment, effects, allowed: allowedEffects), location)
  }
}

/// The events of a host that the test has not asserted yet.
private final class TraceRecord<R: Reactor>: Sendable {
  struct Contents: Sendable {
    var states: [R.State] = []
    var failures: [ReactorFailure<R.Action>] = []
    var ignored: [R.Action] = []
    var running: [(effect: UInt64, action: R.Action)] = []
  }

  private let contents = Mutex(Contents())

  var runningEffects: [R.Action] { contents.withLock { $0.running.map(\.action) } }

  func add(_ trace: ReactorTrace<R>) {
    contents.withLock { contents in
      switch trace {
      case .state(let state): contents.states.append(state)
      case .failure(let failure): contents.failures.append(failure)
      case .ignored(let action): contents.ignored.append(action)
      case .effectStarted(let action, let effect): contents.running.append((effect, action))
      case .effectEnded(_, let effect): contents.running.removeAll { $0.effect == effect }
      case .action, .mutation: break
      }
    }
  }

  func take<Entry: Sendable>(_ entries: WritableKeyPath<Contents, [Entry]>) -> Entry? {
    contents.withLock { $0[keyPath: entries].isEmpty ? nil : $0[keyPath: entries].removeFirst() }
  }
}
