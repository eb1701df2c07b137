import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The working history screen", .timeLimit(.minutes(10)))
struct WorkingHistoryReactorTests {
  private typealias Input = WorkingHistoryReactor.Input

  /// A form with stub services, in virtual time.
  private struct World {
    let states: StubUserStates
    let upstream: StubUpstream
    let test: TestReactor<WorkingHistoryReactor>
    let reports = EntryLog()

    init(
      company: String? = nil,
      position: String? = nil,
      failing failures: [UpstreamError.Kind] = [],
      languages: [String] = []
    ) {
      let clock = VirtualClock()
      var snapshot = UserSnapshot.Contents()
      snapshot.profile.set(company, position)
      states = StubUserStates(snapshot)
      upstream = StubUpstream(clock, failing: failures)
      let keys = Mutex(0)
      let screen = ScreenContext(clock: clock, languages: languages) { [reports] error, part in
        reports.add("\(part): \((error as? UpstreamError).map { "\($0.kind)" } ?? "\(error)")")
      }
      let reactor = WorkingHistoryReactor(
        screen: screen,
        user: states.user,
        upstream: upstream,
        validators: .stub()
      ) {
        keys.withLock { count in
          count += 1
          return "key \(count)"
        }
      }
      test = TestReactor(reactor, clock: clock)
    }

    /// Types into both fields.
    func type(_ company: String, _ position: String) {
      test.send(.setCompanyName(company)) { $0.companyName.text = company }
      test.send(.setPosition(position)) { $0.position.text = position }
    }
  }

  private static let missing = ValidationResult.empty(message: "Enter the position.")
  private static let valid = ValidationResult.ok(message: "The text for the position is valid.")

  /// Texts, and the results of their validation.
  private static let validations: [(String, ValidationResult)] = [
    ("", missing), (" \t ", missing), ("Aurora", valid), ("  Aurora \n", valid),
    (String(repeating: "é", count: 200), valid), (" " + String(repeating: "x", count: 200) + " ", valid),
    (String(repeating: "x", count: 201), .failed(message: "It must have at most 200 characters, and has 201.")),
  ]

  @Test("A begin of the indicator that comes after the end of its save shows no loading")
  func lateBegin() {
    var state = WorkingHistoryReactor.State(screen: ScreenContext(clock: VirtualClock()), validators: .stub())
    func reduce(_ mutations: WorkingHistoryReactor.Mutation...) -> [Bool] {
      mutations.map { mutation in
        WorkingHistoryReactor.reduce(&state, mutation)
        return state.isLoading
      }
    }
    let prompt = WorkingHistoryReactor.Prompt(language: .en, title: "", message: "", choices: [.cancel])
    #expect(reduce(.saving, .busy(true), .failed(prompt), .busy(false)) == [true, true, false, false])
    #expect(reduce(.saving, .failed(prompt), .busy(true), .busy(false)) == [true, false, false, false])
    // The end of the first save comes when the second one has begun.
    #expect(reduce(.saving, .failed(prompt), .saving, .busy(false), .busy(true)) == [true, false, true, true, true])
  }

  @Test("A field shows the typed text, and is validated without white space at its ends", arguments: validations)
  func validates(text: String, expected: ValidationResult) {
    let world = World(company: "Borealis", position: "Chief")
    world.test.send(.setPosition(text)) { $0.position.text = text }
    #expect(world.test.state.validatedPosition == expected)
    #expect(world.test.state.saveEnabled == expected.isValid)
    if !expected.isValid {
      world.test.send(.save)
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    }
    #expect(world.upstream.sent == [])
    world.test.finish()
  }

  @Test("A field follows the profile until the user types in it, and again after it is saved")
  func follows() {
    let world = World(company: "Aurora")
    #expect(world.test.state.companyName.text == "Aurora")
    world.states.announce { $0.profile.set("Borealis", "Chief") }
    world.test.receive { state in
      state.companyName.text = "Borealis"
      state.position.text = "Chief"
    }
    world.test.send(.setCompanyName(" Mine ")) { $0.companyName.text = " Mine " }
    world.states.announce { $0.profile.set("Theirs", "Captain") }
    world.test.receive { $0.position.text = "Captain" }
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
      state.companyName.text = "Mine"
    }
    world.states.announce { $0.profile.set("Theirs", nil) }
    world.test.receive { state in
      state.companyName.text = "Theirs"
      state.position.text = ""
    }
    world.test.finish()
  }

  @Test("Saving sends to the upstream and then changes the profile, and text that is typed meanwhile stays")
  func saves() {
    let world = World()
    world.type(" Aurora ", "Chief")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(1))
    world.test.send(.setPosition("Captain")) { $0.position.text = "Captain" }
    #expect(world.states.changes == [])
    world.test.advance(by: .seconds(1))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
      state.companyName.text = "Aurora"
    }
    #expect(world.upstream.sent == ["Aurora, Chief"])
    #expect(world.states.changes == [.init(saved: ["companyName": "Aurora", "position": "Chief"])])
    world.test.finish()
  }

  @Test("The newest save wins: an older one shows nothing, saves nothing and has no prompt")
  func newest() {
    let world = World(failing: [.timedOut, .unreachable])
    world.type("A", "B")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(1))
    world.test.send(.setPosition("C")) { $0.position.text = "C" }
    world.test.send(.save)
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.prompt = .init(
        language: .en,
        title: "The profile was not saved",
        message: "The service that keeps profiles cannot be reached.",
        choices: [.retry, .cancel]
      )
    }
    world.test.send(.save) { state in
      state.isLoading = true
      state.prompt = nil
    }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
    }
    #expect(world.upstream.sent == ["A, B", "A, C", "A, C"])
    #expect(world.upstream.keys == ["key 1", "key 2", "key 3"], "Each save has a key of its own.")
    #expect(world.states.changes == [.init(saved: ["companyName": "A", "position": "C"])])
    world.test.finish()
  }

  @Test("A failed save asks the user until the user cancels, and an answer to another prompt is a conflict")
  func prompts() {
    let world = World(failing: [.unreachable, .failed(status: 500), .refused(status: 429)])
    world.type("A", "B")
    world.test.send(.save) { $0.isLoading = true }
    let messages = [
      "The service that keeps profiles cannot be reached.", "The service that keeps profiles has a problem.",
      "The service that keeps profiles is busy.",
    ]
    for (index, message) in messages.enumerated() {
      world.test.send(.answer(prompt: index, choice: "retry"))
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
      world.test.advance(by: .seconds(2))
      world.test.receive { state in
        state.isLoading = false
        state.prompt = .init(
          language: .en,
          title: "The profile was not saved",
          message: message,
          choices: [.retry, .cancel]
        )
      }
      world.test.send(.answer(prompt: index + 1, choice: "maybe"))
      world.test.receiveFailure("an unknown choice") { error in
        error as? Refusal == .invalid("/choice", "It must be one of retry, cancel.")
      }
      let prompt = WorkingHistoryReactor.format.encode(world.test.state).objectValue?["prompt"]
      #expect(prompt?["id"] == JSON(index + 1))
      let isLast = index == messages.count - 1
      world.test.send(.answer(prompt: index + 1, choice: isLast ? "cancel" : "retry")) { state in
        state.isLoading = !isLast
        state.prompt = nil
      }
    }
    world.test.advance(by: .seconds(60))
    #expect(world.upstream.keys == ["key 1", "key 1", "key 1"], "A retry sends the same key.")
    #expect(
      world.reports.entries == [
        "upstream: unreachable", "upstream: failed(status: Optional(500))", "upstream: refused(status: 429)",
      ]
    )
    #expect(world.states.changes == [])
    world.test.finish()
  }

  /// Failures of an upstream that a retry cannot change.
  private static let permanentStatuses = [301, 302, 400, 404, 422]

  @Test(
    "A failure that cannot pass offers cancel alone, and the next save asks with the next id",
    arguments: permanentStatuses
  )
  func permanent(status: Int) {
    let world = World(failing: [.refused(status: status), .refused(status: status)])
    world.type("A", "B")
    for id in 1...2 {
      world.test.send(.save) { $0.isLoading = true }
      world.test.advance(by: .seconds(2))
      world.test.receive { state in
        state.isLoading = false
        state.prompt = .init(
          language: .en,
          title: "The profile was not saved",
          message: "The service that keeps profiles does not accept this profile.",
          choices: [.cancel]
        )
      }
      world.test.send(.answer(prompt: id, choice: "retry"))
      world.test.receiveFailure("no such choice") { error in
        error as? Refusal == .invalid("/choice", "It must be one of cancel.")
      }
      world.test.send(.answer(prompt: id, choice: "cancel")) { $0.prompt = nil }
    }
    #expect(world.upstream.keys == ["key 1", "key 2"])
    world.test.finish()
  }

  @Test("If the profile cannot be stored after the upstream has accepted it, the user is asked too")
  func notStored() {
    let world = World()
    world.type("A", "B")
    let message = "The change cannot be saved at the moment. Try again."
    let failures: [(StateChangeError, String, [WorkingHistoryReactor.Choice])] = [
      (.unavailable(reason: "The disk is full."), message, [.retry, .cancel]),
      (.refused(.quotaExceeded("It's full.")), "It's full.", [.cancel]),
    ]
    world.test.send(.save) { $0.isLoading = true }
    for (index, (error, message, choices)) in failures.enumerated() {
      world.states.fail(with: error)
      world.test.advance(by: .seconds(2))
      world.test.receive { state in
        state.isLoading = false
        state.prompt = .init(
          language: .en,
          title: "The profile was not saved",
          message: message,
          choices: choices
        )
      }
      world.test.send(.answer(prompt: index + 1, choice: choices[0].rawValue)) { state in
        state.isLoading = index == 0
        state.prompt = nil
      }
    }
    #expect(world.reports.entries == ["profile: The disk is full."])
    #expect(world.upstream.keys == ["key 1", "key 1"])
    world.test.finish()
  }

  /// Responses of the upstream, and the profile that is saved.
  private static let responses: [(accepted: AcceptedProfile, company: String, position: String)] = [
    (AcceptedProfile(), "aurora", "Chief"),
    (AcceptedProfile(companyName: "Aurora Ltd.", position: "CEO"), "Aurora Ltd.", "CEO"),
    (AcceptedProfile(companyName: "Aurora Ltd."), "Aurora Ltd.", "Chief"),
    (AcceptedProfile(companyName: " ", position: String(repeating: "x", count: 201)), "aurora", "Chief"),
  ]

  @Test(
    "The profile that the upstream responds with is saved; missing and invalid texts are as typed",
    arguments: responses
  )
  func accepted(accepted: AcceptedProfile, company: String, position: String) {
    let world = World()
    world.upstream.respond(accepted)
    world.type(" aurora ", "Chief")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
      state.companyName.text = company
      state.position.text = position
    }
    #expect(world.upstream.sent == ["aurora, Chief"])
    #expect(world.states.changes == [.init(saved: ["companyName": company, "position": position])])
    world.test.finish()
  }

  @Test("The screen shows whether the upstream can be reached, and emits nothing while it is inactive")
  func reachability() {
    let world = World()
    world.upstream.reachability.update(.unreachable)
    world.test.receive { $0.isUpstreamReachable = false }
    world.test.send(.setActive(false))
    world.upstream.reachability.update(.reachable)
    world.test.advance(by: .seconds(1))
    world.test.send(.setCompanyName("A"))
    world.test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    world.test.send(.setActive(true)) { $0.isUpstreamReachable = true }
    world.test.finish()
  }

  @Test("The screen shows at most one change of the reachability a second, and then the newest one")
  func reachabilityChanges() {
    let world = World()
    world.upstream.reachability.update(.unreachable)
    world.test.receive { $0.isUpstreamReachable = false }
    world.upstream.reachability.update(.reachable)
    world.test.advance(by: .milliseconds(999))
    // The test fails here if a state has come.
    world.test.send(.setActive(true))
    world.test.advance(by: .milliseconds(1))
    world.test.receive { $0.isUpstreamReachable = true }
    for status in [Reachability.Status.unreachable, .reachable] {
      world.upstream.reachability.update(status)
      world.test.advance(by: .milliseconds(500))
    }
    world.test.send(.setActive(true))
    world.upstream.reachability.update(.unreachable)
    world.test.receive { $0.isUpstreamReachable = false }
    world.test.finish()
  }

  @Test("The texts are in the user's language")
  func languages() {
    let world = World(failing: [.timedOut], languages: ["fr-CA"])
    world.type("A", String(repeating: "x", count: 201))
    #expect(
      world.test.state.validatedPosition
        == .failed(message: "200 caractères au maximum, il y en a 201.")
    )
    world.test.send(.setPosition("B")) { $0.position.text = "B" }
    world.test.send(.save) { $0.isLoading = true }
    #expect(WorkingHistoryReactor.format.encode(world.test.state).objectValue?["progress"] == "Enregistrement…")
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.prompt = .init(
        language: .fr,
        title: "Le profil n’a pas été enregistré",
        message: "Le service des profils met trop de temps à répondre.",
        choices: [.retry, .cancel]
      )
    }
    let prompt = WorkingHistoryReactor.format.encode(world.test.state).objectValue?["prompt"]
    #expect(prompt?["choices"] == ["retry", "cancel"])
    #expect(prompt?["choiceTexts"] == ["retry": "Réessayer", "cancel": "Annuler"])
    world.test.send(.answer(prompt: 1, choice: "cancel")) { $0.prompt = nil }
    world.test.finish()
  }

  /// Texts in a language.
  struct Texts: Sendable {
    let language: String
    let cancel: String
    /// Of a company: without text, and with a valid text.
    let company: (missing: String, valid: String)
    /// The same of a position.
    let position: (missing: String, valid: String)
  }

  private static let texts = [
    Texts(
      language: "en",
      cancel: "Cancel",
      company: ("Enter the company.", "The text for the company is valid."),
      position: ("Enter the position.", "The text for the position is valid.")
    ),
    Texts(
      language: "ja",
      cancel: "キャンセル",
      company: ("会社名を入力してください。", "会社名の入力は有効です。"),
      position: ("役職を入力してください。", "役職の入力は有効です。")
    ),
    Texts(
      language: "de",
      cancel: "Abbrechen",
      company: ("Geben Sie die Firma ein.", "Die Eingabe für die Firma ist gültig."),
      position: ("Geben Sie die Position ein.", "Die Eingabe für die Position ist gültig.")
    ),
    Texts(
      language: "fr",
      cancel: "Annuler",
      company: ("Saisissez l’entreprise.", "La saisie de l’entreprise est valide."),
      position: ("Saisissez le poste.", "La saisie du poste est valide.")
    ),
    Texts(
      language: "es",
      cancel: "Cancelar",
      company: ("Introduzca la empresa.", "El texto de la empresa es válido."),
      position: ("Introduzca el cargo.", "El texto del cargo es válido.")
    ),
  ]

  @Test("The choices of a prompt, empty fields and valid fields have texts in the user's language", arguments: texts)
  func choiceTexts(texts: Texts) {
    let world = World(failing: [.refused(status: 422)], languages: [texts.language])
    #expect(world.test.state.validatedCompanyName == .empty(message: texts.company.missing))
    #expect(world.test.state.validatedPosition == .empty(message: texts.position.missing))
    world.type("A", "B")
    #expect(world.test.state.validatedCompanyName == .ok(message: texts.company.valid))
    #expect(world.test.state.validatedPosition == .ok(message: texts.position.valid))
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(2))
    world.test.skipStates()
    let prompt = WorkingHistoryReactor.format.encode(world.test.state).objectValue?["prompt"]
    #expect(prompt?["choices"] == ["cancel"])
    #expect(prompt?["choiceTexts"] == ["cancel": .string(texts.cancel)])
    world.test.finish()
  }

  @Test("A rule for a field can be replaced, and it decides whether the user may save")
  func replacedRule() {
    let (clock, states) = (VirtualClock(), StubUserStates())
    var validators = ScreenValidators.stub()
    validators.companyName = { _ in
      Validator { $0 == "Aurora" ? .ok(message: "A known company") : .failed(message: "Unknown") }
    }
    let reactor = WorkingHistoryReactor(
      screen: ScreenContext(clock: clock),
      user: states.user,
      upstream: StubUpstream(clock),
      validators: validators
    )
    let test = TestReactor(reactor, clock: clock)
    test.send(.setPosition("Chief")) { $0.position.text = "Chief" }
    test.send(.setCompanyName("Borealis")) { $0.companyName.text = "Borealis" }
    #expect(test.state.validatedCompanyName == .failed(message: "Unknown") && !test.state.saveEnabled)
    test.send(.setCompanyName("Aurora")) { $0.companyName.text = "Aurora" }
    #expect(test.state.validatedCompanyName == .ok(message: "A known company") && test.state.saveEnabled)
    test.finish()
  }
}

extension MapState {
  /// Sets or removes the fields of a profile.
  fileprivate mutating func set(_ company: String?, _ position: String?) {
    for (name, text) in [("companyName", company), ("position", position)] {
      apply(text.map { .set(key: name, value: EncodedJSON(.string($0))) } ?? .removed(key: name))
    }
  }
}
