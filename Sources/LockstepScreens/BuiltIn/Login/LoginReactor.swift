import LockstepAccounts
import LockstepCollections
import LockstepReactor
import LockstepStore

/// A login form as a screen. The password stays in memory until a login succeeds.
///
/// The form does not tell whether there is an account with an address, because then an attacker could
/// find out who has one. A login takes the same time in both cases for the same reason.
struct LoginReactor: Reactor {
  struct State: Sendable, Equatable {
    let language: ScreenLanguage
    /// The text as typed.
    var username = ""
    var passwordValidation = ValidationResult.empty
    var isExecuting = false
    @Pulse var error: String?
    var session: SignedIn?
    @HiddenField var password = Password("")
    /// Whether the client shows the screen.
    @HiddenField var isActive = true

    var usernameValidation: ValidationResult { LoginReactor.usernameValidator(language).validate(username) }
    var isLoginEnabled: Bool { !isExecuting && [usernameValidation, passwordValidation].areAllValid }
  }

  enum Action: Sendable {
    case setUsername(String)
    case setPassword(Password)
    case submit(ClientNetwork)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case username(String)
    case password(Password, ValidationResult)
    case executing
    case failed(String)
    case loggedIn(SignedIn)
    case active(Bool)
  }

  let screen: ScreenContext
  /// The name of the new session.
  let device: String?
  /// The only rule for passwords here. The rules for new passwords may have changed since the user
  /// chose this password.
  let maximumPasswordBytes: Int
  /// Logs in with its input, one login at a time. Without an input, it is disabled.
  private let logIn: Command<Credentials?, SignedIn>

  init(screen: ScreenContext, device: String? = nil, accounts: any LogInService, maximumPasswordBytes: Int) {
    (self.screen, self.device, self.maximumPasswordBytes) = (screen, device, maximumPasswordBytes)
    logIn = Command(input: nil, isAllowed: { $0 != nil }) { credentials in
      guard let credentials else { throw AccountsError.wrongCredentials }
      return try await accounts.logIn(credentials)
    }
  }

  private static func usernameValidator(_ language: ScreenLanguage) -> Validator<String> {
    Validator(normalise: { $0.trimmingWhitespace() }) { text in
      if text.isEmpty { return .empty }
      do throws(AccountTextError) {
        _ = try EmailAddress(text)
        return .ok
      } catch {
        return .failed(message: language == .en ? error.description : ScreenText.invalidAddress[language])
      }
    }
  }

  var initialState: State { State(language: ScreenLanguage(of: screen)) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): return .just(.active(isActive))
    case _ where !state.isActive: return .failure(Refusal.inactive)
    case .setUsername(let text): return .just(.username(text))
    case .setPassword(let password): return .just(.password(password, validation(of: password, state.language)))
    case .submit(let network):
      // While a login runs, another `submit` changes nothing.
      if state.isExecuting { return .none }
      guard state.isLoginEnabled else {
        return .failure(
          Refusal.conflict("isLoginEnabled is false. usernameValidation and passwordValidation show why.")
        )
      }
      let credentials = Credentials(
        email: state.username.trimmingWhitespace(),
        password: state.password,
        device: device,
        network: network
      )
      return .concat(.just(.executing), .run { try await execute(credentials, state.language, $0) })
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .username(let text): state.username = text
    case .password(let password, let validation):
      state.password = password
      state.passwordValidation = validation
    case .executing:
      state.isExecuting = true
      state.$error.clear()
      state.session = nil
    case .failed(let message):
      state.isExecuting = false
      state.error = message
    case .loggedIn(let session):
      state.isExecuting = false
      state.session = session
      state.password = Password("")
      state.passwordValidation = .empty
    case .active(let isActive): state.isActive = isActive
    }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  private func execute(
    _ credentials: Credentials,
    _ language: ScreenLanguage,
    _ emit: Emitter<Mutation>
  ) async throws {
    logIn.update(credentials)
    // The command keeps no password.
    defer { logIn.update(nil) }
    switch await logIn.execute() {
    case .value(let session): try await emit(.loggedIn(session))
    case .failed(let error):
      let error = AccountsError(thrown: error)
      if error.isFailure { screen.report(error, in: "login") }
      try await emit(.failed(error.loginText(language)))
    case .cancelled, .refused: break
    }
  }

  private func validation(of password: Password, _ language: ScreenLanguage) -> ValidationResult {
    if password.byteCount == 0 { return .empty }
    return password.byteCount <= maximumPasswordBytes
      ? .ok : .failed(message: ScreenText.longPassword(maximumPasswordBytes)[language])
  }
}

/// The part of `AccountsService` that logging in needs.
package protocol LogInService: Sendable {
  func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn
}

extension StoredAccounts: LogInService {}
