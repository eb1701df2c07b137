import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollections
@testable import LockstepLogging
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync
@testable import LockstepTime

@Suite("Hosted screens follow the whole reactor protocol", .timeLimit(.minutes(10)))
struct HostedScreenTests {
  private let clock = VirtualClock()
  private let merged = DispatchSubject<String>()

  /// A running screen, its states and its failures.
  private func world() -> (screen: HostedScreen<Recorder>, seen: EntryLog, failures: EntryLog) {
    let (seen, failures) = (EntryLog(), EntryLog())
    let reactor = Recorder(clock: clock, merged: merged)
    let errors = ErrorAction { failures.add("\($0.origin): \($0.message)") }
    let screen = HostedScreen(reactor, Recorder.actions, .text, errors) { seen.add("shown") }
    clock.start { await screen.run() }
    clock.settle()
    return (screen, seen, failures)
  }

  /// Performs actions as one step and returns the outcome.
  @discardableResult
  private func act(_ screen: HostedScreen<Recorder>, _ actions: String...) -> String {
    let outcome = EntryLog()
    let json = actions.map { action -> JSON in ["type": "do", "payload": ["value": .string(action)]] }
    clock.start {
      do {
        try await screen.read(json, from: ClientNetwork(host: "")).perform { _ in true }
        outcome.add("done")
      } catch {
        outcome.add("\((error as? StepRefusal)?.reason ?? error)")
      }
    }
    clock.settle()
    return outcome.entries.first ?? "waits"
  }

  private func state(_ screen: HostedScreen<Recorder>) -> String {
    String(decoding: screen.shown.encoded, as: UTF8.self)
  }

  @Test("The initial state is transformed, and so are actions, mutations and states")
  func transforms() {
    let (screen, _, _) = world()
    #expect(state(screen) == #""<start>""#)
    act(screen, "a", "dropped action", "dropped mutation", "b")
    #expect(state(screen) == #""<start A B>""#)
    act(screen, "hidden")
    #expect(state(screen) == #""<start A B>""#)
    act(screen, "c")
    #expect(state(screen) == #""<start A B HIDDEN C>""#)
  }

  @Test("Merged actions and mutations are handled like all others")
  func merges() {
    let (screen, _, _) = world()
    merged.dispatch("from a service")
    clock.settle()
    #expect(state(screen) == #""<start FROM A SERVICE>""#)
  }

  @Test("Each immediate mutation is reduced once, and a step shows one state")
  func reducesOnce() {
    let (screen, seen, _) = world()
    Recorder.reductions.withLock { $0 = [:] }
    act(screen, "once 1", "once 2", "once 3")
    let reductions = Recorder.reductions.withLock { $0.filter { $0.key.hasPrefix("ONCE") } }
    #expect(reductions == ["ONCE 1": 1, "ONCE 2": 1, "ONCE 3": 1])
    #expect(seen.entries == ["shown"] && screen.number == 2)
  }

  @Test("The policies of actions apply: all, latest, first and serial")
  func policies() {
    let (screen, _, _) = world()
    for action in ["all 1", "all 2", "latest 1", "latest 2", "first 1", "first 2"] {
      #expect(act(screen, action) == "done")
    }
    #expect(act(screen, "serial 1") == "done")
    #expect(act(screen, "serial 2") == "waits")
    clock.advance(by: .seconds(1))
    #expect(state(screen) == #""<start ALL 1 ALL 2 LATEST 2 FIRST 1 SERIAL 1>""#)
    clock.advance(by: .seconds(1))
    #expect(state(screen) == #""<start ALL 1 ALL 2 LATEST 2 FIRST 1 SERIAL 1 SERIAL 2>""#)
  }

  @Test("Immediate failures, later ones and those of merged streams are recorded; a client's faults are not")
  func failures() {
    let (screen, _, failures) = world()
    #expect(act(screen, "a", "fail at once") == "\(Broken())")
    #expect(act(screen, "refuse").contains("conflict"))
    #expect(screen.failures.count == 1 && screen.failures.last?.message == "\(Broken())")
    #expect(act(screen, "fail later") == "done")
    clock.advance(by: .seconds(1))
    act(screen, "fail the stream")
    let broken = "\(Broken())"
    #expect(failures.entries == ["action: \(broken)", "action: \(broken)", "mutationStream: \(broken)"])
    #expect(screen.failures.count == 3 && screen.failures.last?.origin == "mutationStream")
    #expect(state(screen) == #""<start>""#)
  }

  @Test("The begin and the end of an effect are changes that administrators can wait for")
  func effects() {
    let (screen, seen, _) = world()
    act(screen, "fail later")
    #expect(screen.runningEffects == 1)
    let begun = seen.entries.count
    #expect(begun == 1)
    clock.advance(by: .seconds(1))
    #expect(screen.runningEffects == 0)
    #expect(seen.entries.count > begun)
    #expect(screen.number == 1)
  }

  @Test("The directory counts failures by kind, and logs those of a part once a minute with the number of the others")
  func counted() async throws {
    let (log, time) = (EntryLog(), ManualTime())
    let logger = Logger(level: .debug, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) {
      log.add(String(decoding: $0, as: UTF8.self).filter { $0 != "\n" })
    }
    let directory = ScreenDirectory(
      environment: ScreenEnvironment(
        users: StubUserStates(),
        clock: clock,
        now: { Timestamp(millisecondsSince1970: 0) }
      ),
      limits: ScreenLimits(),
      waiting: WaitingLimits(),
      random: { UInt64.random(in: 0 ... .max) },
      monotonic: time.serverTime.monotonic,
      logger: logger
    )
    let kind = ScreenDeclaration.anonymous("recorder", actions: Recorder.actions, state: .text) { [merged] screen in
      screen.report(Broken(), in: "part")
      screen.report(CancellationError(), in: "part")
      return Recorder(clock: screen.clock, merged: merged)
    }
    for seconds in [0.0, 59, 1] {
      time.advance(by: seconds)
      let screen = try await directory.open(kind, ScreenOpening(network: ClientNetwork(host: "192.0.2.1")))
      await #expect(throws: StepRefusal.self) {
        let action: JSON = ["type": "do", "payload": ["value": "fail at once"]]
        try await screen.engine.read([action], from: ClientNetwork(host: "")).perform { _ in true }
      }
      #expect(screen.engine.failures.count == 2 && screen.engine.failures.last?.origin == "action")
    }
    #expect(directory.metrics.failures == ["recorder": 6])
    let start = "1970-01-01T00:00:00.000Z WARNING a screen had a failure screen=recorder"
    let lines = ["0", "1"].flatMap { count in
      ["part", "action"].map { "\(start) origin=\($0) error=\(Broken()) failuresNotLogged=\(count)" }
    }
    #expect(log.entries == lines)
    directory.shutDown()
  }
}

private struct Broken: Error {}

/// Entries that any thread may add.
final class EntryLog: Sendable {
  private let stored = Mutex<[String]>([])

  var entries: [String] { stored.withLock { $0 } }

  func add(_ entry: String) { stored.withLock { $0.append(entry) } }
}

/// Collects words. Its transforms make words uppercase, drop some, and put the state in brackets.
private struct Recorder: Reactor {
  static let reductions = Mutex<[String: Int]>([:])

  static let actions = [ActionCase<String>("do", .typed("value")) { $0 }]

  let clock: any Clock<Duration>
  let merged: DispatchSubject<String>
  private let failing = DispatchSubject<Bool>()

  init(clock: any Clock<Duration>, merged: DispatchSubject<String>) {
    self.clock = clock
    self.merged = merged
  }

  var initialState: String { "start" }

  func mutate(_ action: String, in state: String) -> Effect<String> {
    switch action {
    case "fail at once": .failure(Broken())
    case "refuse": .failure(Refusal.conflict("No."))
    case "fail later":
      .run { [clock] _ in
        try await clock.sleep(for: .seconds(1))
        throw Broken()
      }
    case "fail the stream": .run { [failing] _ in failing.dispatch(true) }
    case _ where policy(for: action) != .all || action.hasPrefix("all"):
      .run { [clock] emit in
        try await clock.sleep(for: .seconds(1))
        try await emit(action)
      }
    default: .just(action)
    }
  }

  static func reduce(_ state: inout String, _ mutation: String) {
    reductions.withLock { $0[mutation, default: 0] += 1 }
    state += " \(mutation)"
  }

  func policy(for action: String) -> EffectPolicy {
    switch action.split(separator: " ").first {
    case "latest": .latest("latest")
    case "first": .first("first")
    case "serial": .serial("serial")
    default: .all
    }
  }

  func transform(action: Flow<String>) -> Flow<String> {
    action.merging(merged.events().ignoringLosses).filter { $0 != "dropped action" }
  }

  func transform(mutation: Flow<String>) -> Flow<String> {
    mutation.merging(FailingStream(events: failing.events()))
      .compactMap { $0 == "dropped mutation" ? nil : $0.uppercased() }
  }

  func transform(state: Flow<String>) -> Flow<String> {
    state.compactMap { $0.hasSuffix("HIDDEN") ? nil : "<\($0)>" }
  }
}

/// Throws at the first event.
private struct FailingStream: AsyncSequence, Sendable {
  let events: EventStream<Bool>

  func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    var events: EventStream<Bool>.Iterator

    mutating func next(isolation actor: isolated (any Actor)?) async throws(Broken) -> String? {
      if (try? await events.next(isolation: actor)) != nil { throw Broken() }
      return nil
    }
  }
}
