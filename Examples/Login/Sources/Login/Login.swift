import LockstepReactor

/// A login as a reactor. A second submit cancels the request of the first.
struct Login: Reactor {
  enum Action: Sendable {
    case setEmail(String)
    case setPassword(String)
    case submit
  }

  enum Mutation: Sendable {
    case email(String)
    case password(String)
    case started
    case loggedIn(Session)
    case failed(String)
  }

  struct State: Sendable, Equatable {
    var form = LoginForm()
    var isLoggingIn = false
    var session: Session?
    @Pulse var error: String?
  }

  let request: LoginRequest

  var initialState: State { State() }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setEmail(let email): return .just(.email(email))
    case .setPassword(let password): return .just(.password(password))
    case .submit:
      guard state.form.isValid else { return .just(.failed("Enter an address and a password.")) }
      return .concat(
        .just(.started),
        .run { [request, form = state.form.normalised] emit in
          let outcome: Mutation
          do { outcome = .loggedIn(try await request(form)) } catch { outcome = .failed("\(error)") }
          // After a newer submit, this throws, and the outcome is dropped.
          try await emit(outcome)
        }
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .email(let email): state.form.email = email
    case .password(let password): state.form.password = password
    case .started: state.isLoggingIn = true
    case .loggedIn(let session):
      state.isLoggingIn = false
      state.session = session
    case .failed(let reason):
      state.isLoggingIn = false
      state.error = reason
    }
  }

  func policy(for action: Action) -> EffectPolicy {
    if case .submit = action { return .latest("login") }
    return .all
  }
}
