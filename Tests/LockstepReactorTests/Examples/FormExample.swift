import LockstepReactor
import LockstepReactorTesting
import Testing

/// A form with a company name and a position.
private struct ProfileForm: Reactor {
  struct State: Sendable, Equatable {
    var companyName = ""
    var position = ""
    var validatedCompanyName: ValidationResult = .empty
    var validatedPosition: ValidationResult = .empty
    var isLoading = false
    var profile: [String: String] = [:]

    var saveEnabled: Bool { [validatedCompanyName, validatedPosition].areAllValid && !isLoading }
  }

  enum Action: Sendable { case setCompanyName(String), setPosition(String), save }
  enum Mutation: Sendable { case companyName(String), position(String), loading(Bool), saved([String: String]) }
  struct NotReady: Error {}

  static let validator = Validator.text(1...200, missing: "required", tooShort: "", tooLong: "at most 200 characters")

  let prompt: ScriptedPrompt
  let request: @Sendable ([String: String]) async throws -> Void

  var initialState: State { State() }

  func policy(for action: Action) -> EffectPolicy {
    if case .save = action { return .first("save") }
    return .all
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setCompanyName(let name): return .just(.companyName(name))
    case .setPosition(let position): return .just(.position(position))
    case .save:
      guard state.saveEnabled else { return .failure(NotReady()) }
      let profile = [
        "companyName": Self.validator.normalise(state.companyName),
        "position": Self.validator.normalise(state.position),
      ]
      return .concat(
        .just(.loading(true)),
        .run { emit in
          let answer: Void? = try await retryWhenConfirmed(prompt) { try await request(profile) }
          if answer != nil { try await emit(.saved(profile)) }
        },
        .just(.loading(false))
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .companyName(let name):
      state.companyName = name
      state.validatedCompanyName = validator.validate(name)
    case .position(let position):
      state.position = position
      state.validatedPosition = validator.validate(position)
    case .loading(let isLoading): state.isLoading = isLoading
    case .saved(let profile): state.profile = profile
    }
  }
}

@Suite("Example: a form of company name and position", .timeLimit(.minutes(10)))
struct FormExample {
  private let scheduler = TestScheduler()

  /// The server fails once and then takes 20 seconds. The user is asked whether to retry, and
  /// agrees or declines.
  private func makeForm(consents: Bool) -> (test: TestReactor<ProfileForm>, asked: TestObserver<String>) {
    let asked = scheduler.createObserver(String.self)
    let attempts: [[Recorded<Int>]] = [[.error(10, Broken())], [.completed(20)]]
    let server = scheduler.createColdSequence(attempts: attempts)
    let form = ProfileForm(
      prompt: ScriptedPrompt(scheduler, record: asked, answers: [consents]),
      request: { _ in for try await _ in server {} }
    )
    return (TestReactor(form, clock: scheduler.clock), asked)
  }

  private func fillIn(_ test: TestReactor<ProfileForm>) {
    test.send(.setCompanyName("  ")) {
      $0.companyName = "  "
      $0.validatedCompanyName = .empty(message: "required")
    }
    test.send(.setCompanyName(" Tidewater ")) {
      $0.companyName = " Tidewater "
      $0.validatedCompanyName = .ok
    }
    #expect(!test.state.saveEnabled)
    test.send(.setPosition("Keeper\n")) {
      $0.position = "Keeper\n"
      $0.validatedPosition = .ok
    }
    #expect(test.state.saveEnabled)
  }

  @Test("Trim, validate, enable, save, ask, retry, saved; and the changeset contains the new values")
  func saved() {
    let (test, asked) = makeForm(consents: true)
    fillIn(test)
    let before = test.state.profile

    test.send(.save) { $0.isLoading = true }
    #expect(!test.state.saveEnabled)
    test.send(.save)
    test.receiveIgnored("the second save")
    test.advance(by: .seconds(10))  // the server fails; the user is asked and takes 5 seconds
    #expect(asked.events == [.next(10, #"ask: Broken(name: "broken")"#)])
    test.advance(by: .seconds(5 + 20))
    test.receive(
      { $0.profile = ["companyName": "Tidewater", "position": "Keeper"] },
      { $0.isLoading = false }
    )
    #expect(
      MapChangeset(from: before, to: test.state.profile)
        == MapChangeset(set: ["companyName": "Tidewater", "position": "Keeper"])
    )
    test.finish()
  }

  @Test("If the user declines to retry, the saving ends without an error")
  func refused() {
    let (test, asked) = makeForm(consents: false)
    fillIn(test)
    test.send(.save) { $0.isLoading = true }
    test.advance(by: .seconds(15))
    test.receive { $0.isLoading = false }
    #expect(asked.elements == [#"ask: Broken(name: "broken")"#])
    #expect(test.state.profile == [:])
    test.finish()
  }

  @Test("Saving before both fields are valid is an error and changes nothing")
  func notReady() {
    let (test, _) = makeForm(consents: true)
    test.send(.save)
    test.receiveFailure("NotReady") { $0 is ProfileForm.NotReady }
    test.finish()
  }
}
