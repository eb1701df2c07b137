import LockstepAccounts
import LockstepCollections
import LockstepReactor
import LockstepStore

/// A login form as a screen. The password stays in memory until a login succeeds.
struct LoginReactor: Reactor {
  struct State: Sendable, Equatable {
    /// The text as typed.
    var username = ""
    var passwordValidation = ValidationResult.empty
    var isExecuting = false
    var error: String?
    var session: SignedIn?
    @HiddenField var password = Password("")
    /// Whether the client shows the screen.
    @HiddenField var isActive = true

    var usernameValidation: ValidationResult { LoginReactor.usernameValidator.validate(username) }
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

  let accounts: any LogInService
  /// The only rule for passwords here. The rules for new passwords may have changed since the user
  /// chose this password.
  let maximumPasswordBytes: Int

  private static let usernameValidator = Validator<String>(normalise: { $0.trimmingWhitespace() }) { text in
    if text.isEmpty { return .empty }
    do throws(AccountTextError) {
      _ = try EmailAddress(text)
      return .ok
    } catch {
      return .failed(message: error.description)
    }
  }

  var initialState: State { State() }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setUsername(let text): return .just(.username(text))
    case .setPassword(let password): return .just(.password(password, validation(of: password)))
    case .setActive(let isActive): return .just(.active(isActive))
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
        device: nil,
        network: network
      )
      return .concat(.just(.executing), .run { try await $0(logIn(credentials)) })
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
      state.error = nil
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

  private func logIn(_ credentials: Credentials) async -> Mutation {
    do throws(AccountsError) {
      return .loggedIn(try await accounts.logIn(credentials))
    } catch {
      // The description of a store's error is for the operator, not for the user.
      if case .store = error { return .failed("Logging in is not possible at the moment. Try again.") }
      return .failed(error.description)
    }
  }

  private func validation(of password: Password) -> ValidationResult {
    if password.byteCount == 0 { return .empty }
    return password.byteCount <= maximumPasswordBytes
      ? .ok : .failed(message: "The password is longer than \(maximumPasswordBytes) bytes.")
  }
}

/// The part of `AccountsService` that logging in needs.
package protocol LogInService: Sendable {
  func logIn(_ credentials: Credentials) async throws(AccountsError) -> SignedIn
}

extension StoredAccounts: LogInService {}
