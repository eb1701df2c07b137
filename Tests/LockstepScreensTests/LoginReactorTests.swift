import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepAccounts
@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The login screen", .timeLimit(.minutes(10)))
struct LoginReactorTests {
  /// A form with stub services, in virtual time.
  private struct World {
    let accounts: StubLogIn
    let test: TestReactor<LoginReactor>
    let reports = EntryLog()

    /// A user's password may have `shortest` characters. Nil: that cannot be read at present.
    init(
      _ results: LogInError?...,
      shortest: Int? = 1,
      languages: [String] = [],
      validators change: (inout ScreenValidators, VirtualClock) -> Void = { _, _ in }
    ) {
      let clock = VirtualClock()
      accounts = StubLogIn(clock, results)
      let screen = ScreenContext(clock: clock, languages: languages) { [reports] in reports.add("\($1): \($0)") }
      var validators = ScreenValidators.stub(clock) {
        guard let shortest else { throw AccountsError.outOfMemory }
        return shortest
      }
      change(&validators, clock)
      test = TestReactor(
        LoginReactor(screen: screen, accounts: accounts, validators: validators),
        clock: clock
      )
    }

    /// Types a valid address.
    func typeAddress(_ text: String = "ada@example.com") {
      test.send(.setUsername(text)) { state in
        state.username = text
        state.usernameValidation = .ok(message: "This is an e-mail address.")
      }
    }

    /// Types a password that is long enough for new ones too.
    func typePassword() {
      test.send(.setPassword(Password("correct horse"))) { $0.passwordValidation = LoginReactorTests.validPassword }
    }
  }

  private static let network = ClientNetwork(host: "192.0.2.1")
  private static let validPassword = ValidationResult.ok(message: "The length of the password is valid.")
  private static let noPassword = ValidationResult.empty(message: "Enter the password.")
  private static let checking = ValidationResult.validating(message: "Checking the length of the password…")

  /// Inputs, and whether the form can be submitted.
  private static let inputs: [(username: String, password: String, Bool)] = [
    ("", "", false), ("ada@example.com", "", false), ("", "correct horse", false),
    ("ada@example.com", "12345678", true), (" ADA@example.com\n", "12345678", true),
    ("ada@example", "12345678", false), ("ada", "12345678", false),
    ("ada@example.com", String(repeating: "x", count: 256), true),
    ("ada@example.com", String(repeating: "x", count: 257), false),
  ]

  @Test("An address with a password of a valid length can be submitted", arguments: inputs)
  func validates(username: String, password: String, isEnabled: Bool) {
    let world = World()
    world.test.send(.setUsername(username))
    world.test.skipStates()
    world.test.send(.setPassword(Password(password)))
    world.test.skipStates()
    #expect(world.test.state.isLoginEnabled == isEnabled)
    world.test.finish()
  }

  /// Passwords, the fewest characters that a user's password may have, and the result.
  private static let lengths: [(password: String, shortest: Int?, ValidationResult)] = [
    ("x", 8, .failed(message: "A password has at least 8 characters.")),
    ("1234567", 8, .failed(message: "A password has at least 8 characters.")),
    ("パスワード7", 6, validPassword), ("123456", 6, validPassword),
    ("12345", 6, .failed(message: "A password has at least 6 characters.")), ("x", 1, validPassword),
    ("x", nil, .ok),
  ]

  @Test(
    "A password that is too short for a new account is valid if any user's may be so short, or if that cannot be read",
    arguments: lengths
  )
  func shortPassword(password: String, shortest: Int?, expected: ValidationResult) {
    let world = World(shortest: shortest)
    world.typeAddress()
    world.test.send(.setPassword(Password(password))) { $0.passwordValidation = Self.checking }
    #expect(!world.test.state.isLoginEnabled)
    world.test.advance(by: LoginReactor.pause + .seconds(1))
    world.test.receive { $0.passwordValidation = expected }
    if shortest == nil { world.test.receiveFailure("the error of the store") { $0 is AccountsError } }
    #expect(world.test.state.isLoginEnabled == expected.isValid)
    if !expected.isValid {
      world.test.send(.submit(Self.network))
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    }
    #expect(world.accounts.attempts == [])
    world.test.finish()
  }

  @Test("Typing more characters ends the check of a shorter password")
  func typesOn() {
    let world = World(shortest: 8)
    world.test.send(.setPassword(Password("1234567"))) { $0.passwordValidation = Self.checking }
    world.test.advance(by: LoginReactor.pause)
    world.test.send(.setPassword(Password("12345678"))) { $0.passwordValidation = Self.validPassword }
    world.test.advance(by: .seconds(10))
    world.test.send(.setPassword(Password(""))) { $0.passwordValidation = Self.noPassword }
    world.test.finish()
  }

  @Test("A submit while the length is checked waits for the result, and then logs in or shows why not")
  func submitsDuringCheck() {
    for (shortest, isAllowed) in [(8, false), (4, true)] {
      let world = World(nil, shortest: shortest)
      world.typeAddress()
      world.test.send(.setPassword(Password("horse"))) { $0.passwordValidation = Self.checking }
      world.test.send(.submit(Self.network)) { $0.isExecuting = true }
      world.test.advance(by: .seconds(60))
      world.test.skipStates()
      #expect(!world.test.state.isExecuting)
      #expect((world.test.state.session != nil) == isAllowed && (world.test.state.error == nil) == isAllowed)
      #expect(world.test.state.error == (isAllowed ? nil : "A password has at least 8 characters."))
      // After the login, the check of the password that was removed shows nothing.
      if isAllowed { #expect(world.test.state.passwordValidation == Self.noPassword) }
      #expect(world.accounts.attempts.count == (isAllowed ? 1 : 0))
      world.test.finish()
    }
  }

  @Test("A rule that takes time can replace that of the address: the form shows that it checks, then its result")
  func replacedRule() {
    let world = World { validators, clock in
      validators.username = { _ in
        AsyncValidator(Validator(normalise: { $0.trimmingWhitespace() }) { _ in .validating(message: "Asking…") }) {
          text in
          try await clock.sleep(for: .seconds(5))
          return text == "ada" ? .ok(message: "Username available") : .failed(message: "Taken")
        }
      }
    }
    world.test.send(.setUsername("grace")) { state in
      state.username = "grace"
      state.usernameValidation = .validating(message: "Asking…")
    }
    world.test.advance(by: LoginReactor.pause)
    world.test.send(.setUsername(" ada ")) { $0.username = " ada " }
    world.test.advance(by: LoginReactor.pause + .seconds(5))
    world.test.receive { $0.usernameValidation = .ok(message: "Username available") }
    let shown = LoginReactor.format(LoginCoordinator()).encode(world.test.state).objectValue?["usernameValidation"]
    #expect(shown == ["kind": "ok", "message": "Username available"])
    world.test.finish()
  }

  @Test("While a login runs, another submit does nothing; then the screen shows the error, or the session and a route")
  func submits() {
    let world = World(.wrongCredentials, .tooManyAttempts(retryAfter: 7), nil, nil)
    let test = world.test
    world.typeAddress(" Ada@example.com")
    world.typePassword()
    test.send(.submit(Self.network)) { $0.isExecuting = true }
    test.send(.submit(Self.network))
    #expect(!test.state.isLoginEnabled)
    test.advance(by: .seconds(2))
    test.receive { state in
      state.isExecuting = false
      state.error = "The e-mail address or the password is wrong."
    }
    func submitAgain() {
      test.send(.submit(Self.network)) { state in
        state.isExecuting = true
        state.$error.clear()
        state.$route.clear()
        state.session = nil
      }
      test.advance(by: .seconds(2))
    }
    submitAgain()
    test.receive { state in
      state.isExecuting = false
      state.error = "Too many attempts. Try again in 7 seconds."
    }
    for id in 1...2 {
      submitAgain()
      test.receive { state in
        state.isExecuting = false
        state.session = StubLogIn.signedIn
        state.passwordValidation = Self.noPassword
        state.route = .favorites
      }
      let route = LoginReactor.format(LoginCoordinator()).encode(test.state).objectValue?["route"]
      #expect(route == ["id": JSON(id), "name": "favoritesTop", "href": "/v1/reactors/favoritesTop"])
      if id == 1 { world.typePassword() }
    }
    let attempt = "Ada@example.com correct horse 192.0.2.1"
    #expect(world.accounts.attempts == [attempt, attempt, attempt, attempt])
    test.finish()
  }

  @Test("While inactive, the screen emits nothing; on activation, it emits the result at once")
  func active() {
    let world = World(nil)
    let test = world.test
    world.typeAddress()
    world.typePassword()
    test.send(.submit(Self.network)) { $0.isExecuting = true }
    test.send(.setActive(false))
    test.advance(by: .seconds(2))
    test.send(.setUsername("other@example.com"))
    test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    test.send(.setActive(true)) { state in
      state.isExecuting = false
      state.session = StubLogIn.signedIn
      state.passwordValidation = Self.noPassword
      state.route = .favorites
    }
    test.finish()
  }

  @Test("The texts are in the user's language, and a failure of the store is reported to the operator")
  func languages() {
    let failure = LogInError.unavailable(reason: "the disk is full")
    let world = World(.tooManyAttempts(retryAfter: 7), failure, languages: ["sv", "ja-JP"])
    let test = world.test
    test.send(.setUsername("ada")) { state in
      state.username = "ada"
      state.usernameValidation = .failed(message: "メールアドレスの形式が正しくありません。例：name@example.com")
    }
    test.send(.setUsername("ada@example.com")) { state in
      state.username = "ada@example.com"
      state.usernameValidation = .ok(message: "メールアドレスの形式です。")
    }
    test.send(.setPassword(Password("12345678"))) { $0.passwordValidation = .ok(message: "パスワードの長さは有効です。") }
    for message in ["試行回数が多すぎます。7秒後にもう一度お試しください。", "現在、ログインできません。もう一度お試しください。"] {
      test.send(.submit(Self.network)) { state in
        state.isExecuting = true
        state.$error.clear()
      }
      let shown = LoginReactor.format(LoginCoordinator()).encode(test.state)
      #expect(shown.objectValue?["progress"] == "ログインしています…")
      test.advance(by: .seconds(2))
      test.receive { state in
        state.isExecuting = false
        state.error = message
      }
    }
    #expect(world.reports.entries == ["login: the disk is full"])
    test.finish()
  }

  /// Languages, and the texts of an empty address, an empty password and one that is checked.
  private static let texts = [
    ("en", "Enter the e-mail address.", "Enter the password.", "Checking the length of the password…"),
    ("ja", "メールアドレスを入力してください。", "パスワードを入力してください。", "パスワードの長さを確認しています…"),
    ("de", "Geben Sie die E-Mail-Adresse ein.", "Geben Sie das Passwort ein.", "Die Länge des Passworts wird geprüft…"),
    ("fr", "Saisissez l’adresse e-mail.", "Saisissez le mot de passe.", "Vérification de la longueur du mot de passe…"),
    (
      "es", "Introduzca la dirección de correo.", "Introduzca la contraseña.",
      "Comprobando la longitud de la contraseña…"
    ),
  ]

  @Test("An empty field and one that is being checked have a text in each language", arguments: texts)
  func textsOfResults(language: String, address: String, password: String, checking: String) {
    let world = World(languages: [language])
    let shown = LoginReactor.format(LoginCoordinator()).encode(world.test.state).objectValue
    #expect(shown?["usernameValidation"] == ["kind": "empty", "message": .string(address)])
    #expect(shown?["passwordValidation"] == ["kind": "empty", "message": .string(password)])
    world.test.send(.setPassword(Password("x"))) { $0.passwordValidation = .validating(message: checking) }
    world.test.advance(by: .seconds(60))
    world.test.skipStates()
    world.test.finish()
  }

  @Test("The password is not in the text of any action, mutation or state")
  func concealed() {
    let secret = "correct horse"
    var state = LoginReactor.State(language: .en, usernameValidation: .ok, passwordValidation: .ok)
    LoginReactor.reduce(&state, .password(Password(secret)))
    let printed = [
      "\(state)", String(reflecting: state), "\(LoginReactor.Action.setPassword(Password(secret)))",
      String(reflecting: LoginReactor.Mutation.password(Password(secret))),
      "\(LoginReactor.format(LoginCoordinator()).encode(state))",
    ]
    for text in printed { #expect(!text.contains("correct") && !text.contains("horse")) }
    var dumped = ""
    dump(state, to: &dumped)
    #expect(!dumped.contains("correct"))
  }
}
