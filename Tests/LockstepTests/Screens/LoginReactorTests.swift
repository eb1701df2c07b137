import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepScreens

@Suite("The login screen", .timeLimit(.minutes(10)))
struct LoginReactorTests {
  private static func world(_ results: AccountsError?...) -> (test: TestReactor<LoginReactor>, accounts: StubLogIn) {
    let clock = VirtualClock()
    let accounts = StubLogIn(clock, results)
    let screen = ScreenContext(clock: clock)
    let reactor = LoginReactor(screen: screen, accounts: accounts, maximumPasswordBytes: 256)
    return (TestReactor(reactor, clock: clock), accounts)
  }

  private static let network = ClientNetwork(host: "192.0.2.1")

  /// Inputs, and whether the form can be submitted.
  private static let inputs: [(username: String, password: String, Bool)] = [
    ("", "", false), ("ada@example.com", "", false), ("", "correct horse", false),
    ("ada@example.com", "1", true), ("ada@example.com", "1234567", true),
    (" ADA@example.com\n", "12345678", true), ("ada@example", "12345678", false), ("ada", "12345678", false),
    ("ada@example.com", String(repeating: "x", count: 256), true),
    ("ada@example.com", String(repeating: "x", count: 257), false),
  ]

  @Test("An address with a password of 1 to 256 bytes can be submitted", arguments: inputs)
  func validates(username: String, password: String, isEnabled: Bool) {
    let (test, accounts) = Self.world()
    if username.isEmpty {
      test.send(.setUsername(username))
    } else {
      test.send(.setUsername(username)) { $0.username = username }
    }
    _ = test.state
    test.send(.setPassword(Password(password)))
    test.skipStates()
    #expect(test.state.isLoginEnabled == isEnabled)
    #expect(test.state.usernameValidation == .empty || !username.isEmpty)
    #expect((test.state.passwordValidation == .empty) == password.isEmpty)
    if !isEnabled {
      test.send(.submit(Self.network))
      test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    }
    #expect(accounts.attempts == [])
    test.finish()
  }

  @Test("While a login runs, another tap is refused; then the screen shows the error or the session")
  func submits() {
    let (test, accounts) = Self.world(.wrongCredentials, .tooManyAttempts(retryAfter: 7), nil)
    test.send(.setUsername(" Ada@example.com")) { $0.username = " Ada@example.com" }
    test.send(.setPassword(Password("correct horse"))) { $0.passwordValidation = .ok }
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
        state.error = nil
      }
      test.advance(by: .seconds(2))
    }
    submitAgain()
    test.receive { state in
      state.isExecuting = false
      state.error = "Too many attempts. Try again in 7 seconds."
    }
    submitAgain()
    test.receive { state in
      state.isExecuting = false
      state.session = StubLogIn.signedIn
      state.passwordValidation = .empty
    }
    let attempt = "Ada@example.com correct horse 192.0.2.1"
    #expect(accounts.attempts == [attempt, attempt, attempt])
    test.finish()
  }

  @Test("While inactive, the screen emits nothing; on activation, it emits the result at once")
  func active() {
    let (test, _) = Self.world(nil)
    test.send(.setUsername("ada@example.com")) { $0.username = "ada@example.com" }
    test.send(.setPassword(Password("correct horse"))) { $0.passwordValidation = .ok }
    test.send(.submit(Self.network)) { $0.isExecuting = true }
    test.send(.setActive(false))
    test.advance(by: .seconds(2))
    test.send(.setUsername("other@example.com"))
    test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    test.send(.setActive(true)) { state in
      state.isExecuting = false
      state.session = StubLogIn.signedIn
      state.passwordValidation = .empty
    }
    test.finish()
  }

  @Test("The texts are in the user's language, and a failure of the store is reported to the operator")
  func languages() {
    let (clock, reports) = (VirtualClock(), EntryLog())
    let accounts = StubLogIn(clock, [.tooManyAttempts(retryAfter: 7), .outOfMemory])
    let screen = ScreenContext(clock: clock, languages: ["sv", "ja-JP"]) { reports.add("\($1): \($0)") }
    let test = TestReactor(
      LoginReactor(screen: screen, accounts: accounts, maximumPasswordBytes: 256),
      clock: clock
    )
    test.send(.setUsername("ada")) { $0.username = "ada" }
    #expect(test.state.usernameValidation == .failed(message: "メールアドレスの形式が正しくありません。例：name@example.com"))
    test.send(.setUsername("ada@example.com")) { $0.username = "ada@example.com" }
    test.send(.setPassword(Password("1"))) { $0.passwordValidation = .ok }
    for message in ["試行回数が多すぎます。7秒後にもう一度お試しください。", "現在、ログインできません。もう一度お試しください。"] {
      test.send(.submit(Self.network)) { state in
        state.isExecuting = true
        state.$error.clear()
      }
      #expect(LoginReactor.format.encode(test.state).objectValue?["progress"] == "ログインしています…")
      test.advance(by: .seconds(2))
      test.receive { state in
        state.isExecuting = false
        state.error = message
      }
    }
    #expect(reports.entries == ["login: \(AccountsError.outOfMemory)"])
    test.finish()
  }

  @Test("The password is not in the text of any action, mutation or state")
  func concealed() {
    let secret = "correct horse"
    var state = LoginReactor.State(language: .en)
    LoginReactor.reduce(&state, .password(Password(secret), .ok))
    let printed = [
      "\(state)", String(reflecting: state), "\(LoginReactor.Action.setPassword(Password(secret)))",
      String(reflecting: LoginReactor.Mutation.password(Password(secret), .ok)),
      "\(LoginReactor.format.encode(state))",
    ]
    for text in printed { #expect(!text.contains("correct") && !text.contains("horse")) }
    var dumped = ""
    dump(state, to: &dumped)
    #expect(!dumped.contains("correct"))
  }
}
