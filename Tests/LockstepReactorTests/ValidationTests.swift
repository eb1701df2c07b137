import LockstepReactor
import LockstepReactorTesting
import Testing

@Suite("Validation", .timeLimit(.minutes(10)))
struct ValidationTests {
  @Test(
    "Only `ok` is valid, and each result may have a message",
    arguments: [
      (ValidationResult.empty(message: "Enter a name."), false, "Enter a name."),
      (.validating(message: "Checking…"), false, "Checking…"),
      (.ok(message: "free"), true, "free"), (.ok, true, ""), (.empty, false, ""),
      (.validating, false, ""), (.failed(message: "taken"), false, "taken"),
    ]
  )
  func results(result: ValidationResult, isValid: Bool, message: String) {
    #expect(result.isValid == isValid)
    #expect(result.message == message)
  }

  @Test("Several validations are valid if all of them are")
  func combination() {
    #expect([ValidationResult.ok, .ok(message: "x")].areAllValid)
    #expect(![ValidationResult.ok, .empty].areAllValid)
    #expect(![ValidationResult.validating, .ok].areAllValid)
    #expect([ValidationResult]().areAllValid)
  }

  @Test(
    "Text is trimmed before it is validated",
    arguments: [
      ("", ValidationResult.empty(message: "missing")), ("  \n\t ", .empty(message: "missing")),
      (" ab ", .failed(message: "short")), (" abc ", .ok), ("abcde", .ok), ("abc def", .failed(message: "long")),
    ]
  )
  func text(input: String, expected: ValidationResult) {
    let validator = Validator.text(3...5, missing: "missing", tooShort: "short", tooLong: "long")
    #expect(validator.validate(input) == expected)
  }

  @Test("Normalizing gives the text that is validated, sent and stored")
  func normalise() {
    let validator = Validator.text(1...10, missing: "", tooShort: "", tooLong: "")
    #expect(validator.normalise("  a b \u{3000}") == "a b")
    #expect("".trimmingWhitespace() == "")
    #expect("é".trimmingWhitespace() == "é")
  }

  @Test("Of two rules, the first one that fails gives the message")
  func conjunction() {
    let even = Validator<Int> { $0.isMultiple(of: 2) ? .ok : .failed(message: "odd") }
    let small = Validator<Int> { $0 < 10 ? .ok : .failed(message: "big") }
    let both = even.and(small)
    #expect(both.validate(4) == .ok)
    #expect(both.validate(11) == .failed(message: "odd"))
    #expect(both.validate(12) == .failed(message: "big"))
  }

  @Test("Of asynchronous validations, the one of the newest input wins")
  func newestWins() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Username(clock: scheduler.clock))
    // After a pause of 10 seconds, the validation of "slow" takes 50 seconds and that of "quick" 5.
    world.send(100, "slow")
    world.send(120, "quick")
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, .empty), .next(100, .validating), .next(135, .ok(message: "quick")), .completed(1000),
      ]
    )
  }

  @Test("The later check runs only if the first result is `validating`, and gets the normalised input")
  func laterCheck() async throws {
    let first = Validator<String>(normalise: { $0.trimmingWhitespace() }) { text in
      text.isEmpty ? .empty(message: "required") : text.count < 3 ? .failed(message: "short") : .validating
    }
    let validator = AsyncValidator(first) { .ok(message: "\($0) is free") }
    #expect(validator.validate(" ada ") == .validating)
    #expect(validator.validate(" a ") == .failed(message: "short"))
    for (text, result) in [
      (" ", ValidationResult.empty(message: "required")), ("a", .failed(message: "short")),
      (" ada ", .ok(message: "ada is free")),
    ] {
      #expect(try await validator.validateCompletely(text) == result)
    }
    #expect(try await AsyncValidator(Validator<Int> { $0 > 0 ? .ok : .empty }).validateCompletely(1) == .ok)
  }

  @Test("The effect of a validator is its result at once; only a later check pauses first")
  func validatorEffect() {
    let scheduler = TestScheduler()
    let world = World(scheduler, CheckedName(clock: scheduler.clock))
    world.send(100, "ada")
    world.send(150, "")
    world.send(200, "grace")
    world.send(205, "ada")
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, .empty), .next(100, .validating(message: "…")), .next(110, .ok(message: "ada")), .next(150, .empty),
        .next(200, .validating(message: "…")), .next(215, .ok(message: "ada")), .completed(1000),
      ]
    )
  }

  @Test("A check that throws makes the input invalid, and the error is reported")
  func checkThatThrows() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Username(clock: scheduler.clock))
    world.send(100, "broken")
    scheduler.start()
    #expect(
      world.states.events == [
        .next(0, .empty), .next(100, .validating), .next(115, .failed(message: "This could not be checked.")),
        .completed(1000),
      ]
    )
    #expect(world.failures.events == [.next(115, #"Broken(name: "broken") from action("broken")"#)])
  }

  @Test("A check that a newer input cancels has no result, whatever it throws")
  func cancelledCheck() {
    let scheduler = TestScheduler()
    let world = World(scheduler, Username(clock: scheduler.clock))
    world.send(100, "slow and broken")
    world.send(120, "quick")
    scheduler.start()
    #expect(world.states.elements == [.empty, .validating, .ok(message: "quick")])
    #expect(world.failures.events == [])
  }
}

private struct Username: Reactor {
  let clock: VirtualClock
  var initialState: ValidationResult { .empty }

  func policy(for action: String) -> EffectPolicy { .latest("username") }

  func mutate(_ name: String, in state: ValidationResult) -> Effect<ValidationResult> {
    .validating(pause: .seconds(10), clock: clock, as: { $0 }) {
      do {
        try await clock.sleep(for: .seconds(name.hasPrefix("slow") ? 50 : 5))
      } catch {
        throw name.hasSuffix("broken") ? Broken() : error
      }
      if name.hasSuffix("broken") { throw Broken() }
      return .ok(message: name)
    }
  }

  static func reduce(_ state: inout ValidationResult, _ mutation: ValidationResult) { state = mutation }
}

private struct CheckedName: Reactor {
  let clock: VirtualClock
  var initialState: ValidationResult { .empty }

  func policy(for action: String) -> EffectPolicy { .latest("name") }

  func mutate(_ name: String, in state: ValidationResult) -> Effect<ValidationResult> {
    let validator = AsyncValidator(Validator<String> { $0.isEmpty ? .empty : .validating(message: "…") }) {
      .ok(message: $0)
    }
    return .validating(name, by: validator, pause: .seconds(10), clock: clock, as: { $0 })
  }

  static func reduce(_ state: inout ValidationResult, _ mutation: ValidationResult) { state = mutation }
}
