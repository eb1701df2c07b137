import LockstepAccounts
import LockstepCollections
import LockstepReactor
import LockstepScreens

/// A login form as a screen. The password stays in memory until a login succeeds.
///
/// The form does not tell whether there is an account with an address, because then an attacker could
/// find out who has one. A login takes the same time in both cases for the same reason.
struct LoginReactor: Reactor {
  /// How long typing must pause before a check that takes time begins.
  static let pause = Duration.milliseconds(300)

  struct State: Sendable, Equatable {
    let language: ScreenLanguage
    /// The text as typed.
    var username = ""
    var usernameValidation: ValidationResult
    var passwordValidation: ValidationResult
    var isExecuting = false
    @Pulse var error: String?
    var session: SignedIn?
    /// The screen to open after a login.
    @Pulse var route: LoginRoute?
    @HiddenField var password = Password("")
    /// False after a login, which removes the password.
    @HiddenField var hasTypedPassword = false
    /// Whether the client shows the screen.
    @HiddenField var isActive = true

    var isLoginEnabled: Bool { !isExecuting && [usernameValidation, passwordValidation].areAllValid }

    /// A login may also begin while a check runs. It then waits for the result.
    var maySubmit: Bool {
      [usernameValidation, passwordValidation].allSatisfy { result in
        if case .validating = result { true } else { result.isValid }
      }
    }
  }

  enum Action: Sendable {
    case setUsername(String)
    case setPassword(Password)
    case submit(ClientNetwork)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case username(String, ValidationResult)
    case password(Password)
    case passwordChecked(ValidationResult)
    case executing
    case failed(String)
    /// The session, and the result for an empty password.
    case loggedIn(SignedIn, ValidationResult)
    case active(Bool)
  }

  let screen: ScreenContext
  /// The name of the new session.
  let device: String?
  private let usernameValidator: AsyncValidator<String>
  private let passwordValidator: AsyncValidator<PasswordLength>
  /// Logs in with its input, one login at a time. Without an input, it is disabled.
  private let logIn: Command<Credentials?, SignedIn>

  init(screen: ScreenContext, device: String? = nil, accounts: any LogInService, validators: ScreenValidators) {
    (self.screen, self.device) = (screen, device)
    usernameValidator = validators.username(screen)
    passwordValidator = validators.password(screen)
    logIn = Command(input: nil, isAllowed: { $0 != nil }) { credentials in
      guard let credentials else { throw LogInError.wrongCredentials }
      return try await accounts.logIn(credentials)
    }
  }

  var initialState: State {
    State(
      language: ScreenLanguage(of: screen),
      usernameValidation: usernameValidator.validate(""),
      passwordValidation: emptyPassword
    )
  }

  private var emptyPassword: ValidationResult {
    passwordValidator.validate(PasswordLength(characters: 0, bytes: 0))
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): return .just(.active(isActive))
    case _ where !state.isActive: return .failure(Refusal.inactive)
    case .setUsername(let text):
      // A check that fails may not lock the user out. The login itself decides.
      return .validating(
        text,
        by: usernameValidator,
        pause: Self.pause,
        clock: screen.clock,
        as: { .username(text, $0) },
        unchecked: .ok
      )
    case .setPassword(let password):
      return .concat(
        .just(.password(password)),
        .validating(
          PasswordLength(password),
          by: passwordValidator,
          pause: Self.pause,
          clock: screen.clock,
          as: { .passwordChecked($0) },
          unchecked: .ok
        )
      )
    case .submit(let network):
      // While a login runs, another `submit` changes nothing.
      if state.isExecuting { return .none }
      guard state.maySubmit else {
        return .failure(
          Refusal.conflict("isLoginEnabled is false. usernameValidation and passwordValidation show why.")
        )
      }
      let credentials = Credentials(
        email: usernameValidator.normalise(state.username),
        password: state.password,
        device: device,
        network: network
      )
      return .concat(.just(.executing), .run { try await execute(credentials, state, $0) })
    }
  }

  func policy(for action: Action) -> EffectPolicy {
    switch action {
    case .setUsername: .latest("username")
    case .setPassword: .latest("password")
    case .submit, .setActive: .all
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .username(let text, let result):
      state.username = text
      state.usernameValidation = result
    case .password(let password): (state.password, state.hasTypedPassword) = (password, true)
    case .passwordChecked(let result):
      // A check may end after the login that did not wait for it.
      if state.hasTypedPassword { state.passwordValidation = result }
    case .executing:
      state.isExecuting = true
      state.$error.clear()
      state.$route.clear()
      state.session = nil
    case .failed(let message):
      state.isExecuting = false
      state.error = message
    case .loggedIn(let session, let emptyPassword):
      state.isExecuting = false
      state.session = session
      state.route = .favorites
      (state.password, state.hasTypedPassword) = (Password(""), false)
      state.passwordValidation = emptyPassword
    case .active(let isActive): state.isActive = isActive
    }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  private func execute(_ credentials: Credentials, _ state: State, _ emit: Emitter<Mutation>) async throws {
    for case .failed(let message) in await finalResults(of: state) {
      return try await emit(.failed(message))
    }
    logIn.update(credentials)
    // The command keeps no password.
    defer { logIn.update(nil) }
    switch await logIn.execute() {
    case .value(let session): try await emit(.loggedIn(session, emptyPassword))
    case .failed(let error):
      let error = error as? LogInError ?? .unavailable(reason: "\(error)")
      if error.isFailure { screen.report(error, in: "login") }
      try await emit(.failed(error.loginText(state.language)))
    case .cancelled, .refused: break
    }
  }

  /// The results of the checks that were running when the user submitted.
  private func finalResults(of state: State) async -> [ValidationResult] {
    var results: [ValidationResult] = []
    if case .validating = state.usernameValidation {
      results.append((try? await usernameValidator.validateCompletely(state.username)) ?? .ok)
    }
    if case .validating = state.passwordValidation {
      results.append((try? await passwordValidator.validateCompletely(PasswordLength(state.password))) ?? .ok)
    }
    return results
  }
}

/// The way from the login to the next screen.
enum LoginRoute: Sendable, Equatable {
  case favorites
}
