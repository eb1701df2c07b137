import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Command", .timeLimit(.minutes(10)))
struct CommandTests {
  let scheduler = TestScheduler()

  /// A command whose work on a name takes 50 seconds. It is enabled unless the name is empty, and
  /// "bad" fails.
  private func makeCommand(_ input: String = "") -> Command<String, String> {
    Command(input: input, isAllowed: { !$0.isEmpty }) { [clock = scheduler.clock] name in
      try await clock.sleep(for: .seconds(50))
      if name == "bad" { throw Broken() }
      return "saved \(name)"
    }
  }

  private func execute(_ command: Command<String, String>, at times: Int...) -> TestObserver<String> {
    let outcomes = scheduler.createObserver(String.self)
    for time in times {
      scheduler.run(from: time) { outcomes.next("\(await command.execute())") }
    }
    return outcomes
  }

  @Test("`enabled` follows the inputs, and is false while the command executes")
  func enabled() {
    let command = makeCommand()
    scheduler.scheduleAt(100) { command.update("a") }
    _ = execute(command, at: 200)
    let enabled = scheduler.observe(command.enabled, from: 0)
    let executing = scheduler.observe(command.executing, from: 0)
    scheduler.start()
    #expect(enabled.events == [.next(0, false), .next(100, true), .next(200, false), .next(250, true)])
    #expect(executing.events == [.next(0, false), .next(200, true), .next(250, false)])
  }

  @Test("`isEnabled` and `isExecuting` can be read at any time")
  func flags() {
    let command = makeCommand()
    let flags = scheduler.createObserver(String.self)
    scheduler.scheduleAt(100) { command.update("a") }
    _ = execute(command, at: 200)
    for time in [50, 150, 225, 300] {
      scheduler.scheduleAt(time) { flags.next("\(command.isEnabled) \(command.isExecuting)") }
    }
    scheduler.start()
    #expect(
      flags.events == [
        .next(50, "false false"), .next(150, "true false"), .next(225, "false true"), .next(300, "true false"),
      ]
    )
  }

  @Test("It refuses while disabled and while executing")
  func refusal() {
    let command = makeCommand()
    let outcomes = execute(command, at: 50, 200, 210, 260)
    scheduler.scheduleAt(100) { command.update("a") }
    scheduler.start()
    #expect(
      outcomes.events == [
        .next(50, "refused(LockstepReactor.CommandOutcome<Swift.String>.Refusal.disabled)"),
        .next(210, "refused(LockstepReactor.CommandOutcome<Swift.String>.Refusal.executing)"),
        .next(250, #"value("saved a")"#),
        .next(310, #"value("saved a")"#),
      ]
    )
  }

  @Test("Of several executions at the same instant, one runs")
  func atomicGate() {
    let command = makeCommand("a")
    let outcomes = execute(command, at: 100, 100, 100)
    scheduler.start()
    #expect(outcomes.elements.filter { $0.hasPrefix("value") }.count == 1)
    #expect(outcomes.elements.filter { $0.hasPrefix("refused") }.count == 2)
  }

  @Test("It uses the newest input at the start of the execution")
  func newestInput() {
    let command = makeCommand("a")
    for (time, input) in [(90, "b"), (95, "c"), (110, "d")] { scheduler.scheduleAt(time) { command.update(input) } }
    let outcomes = execute(command, at: 100)
    scheduler.start()
    #expect(outcomes.events == [.next(150, #"value("saved c")"#)])
  }

  @Test("Values and errors go to their streams, and an error enables the command again")
  func valuesAndErrors() {
    let command = makeCommand("bad")
    let values = scheduler.observe(command.values(), from: 0)
    let errors = scheduler.createObserver(String.self)
    let stream = command.errors()
    scheduler.run { for await error in stream.ignoringLosses { errors.next("\(error)") } }
    scheduler.scheduleAt(160) { command.update("good") }
    _ = execute(command, at: 100, 200)
    scheduler.start()
    #expect(errors.events == [.next(150, #"Broken(name: "broken")"#)])
    #expect(values.events == [.next(250, "saved good")])
  }

  @Test("A cancelled execution is not an error, and the command is enabled again")
  func cancellation() {
    let command = makeCommand("a")
    let outcomes = scheduler.createObserver(String.self)
    scheduler.run(from: 100, until: 120) { outcomes.next("\(await command.execute())") }
    let enabled = scheduler.observe(command.enabled, from: 0)
    scheduler.start()
    #expect(outcomes.events == [.next(120, "cancelled")])
    #expect(enabled.events == [.next(0, true), .next(100, false), .next(120, true)])
  }

  @Test("A cancelled execution that throws its own error is not an error either")
  func cancellationInDisguise() {
    let command = Command<String, String>(input: "a") { [clock = scheduler.clock] name in
      do { try await clock.sleep(for: .seconds(50)) } catch { throw Broken() }
      return name
    }
    let outcomes = scheduler.createObserver(String.self)
    let errors = scheduler.createObserver(String.self)
    let stream = command.errors()
    scheduler.run { for await error in stream.ignoringLosses { errors.next("\(error)") } }
    scheduler.run(from: 100, until: 120) { outcomes.next("\(await command.execute())") }
    scheduler.start()
    #expect(outcomes.events == [.next(120, "cancelled")])
    #expect(errors.events == [])
  }
}
