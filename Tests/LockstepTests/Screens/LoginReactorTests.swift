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
    return (TestReactor(LoginReactor(accounts: accounts, maximumPasswordBytes: 256), clock: clock), accounts)
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
    test.send(.setActive(false))
    test.send(.submit(Self.network))
    test.advance(by: .seconds(2))
    test.send(.setActive(true)) { state in
      state.session = StubLogIn.signedIn
      state.passwordValidation = .empty
    }
    test.finish()
  }

  @Test("The password is not in the text of any action, mutation or state")
  func concealed() {
    let secret = "correct horse"
    var state = LoginReactor.State()
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
