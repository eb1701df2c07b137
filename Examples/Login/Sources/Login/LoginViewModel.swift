import LockstepReactor

/// The same login in the style of MVVM: inputs, and a command for the request. The command runs one request at a
/// time: it refuses a second one until the first has ended, or until the task that runs it is cancelled. The view
/// sets the fields, from one thread.
final class LoginViewModel: Sendable {
  private let form = Latest(LoginForm())

  /// Whether the button is enabled, whether a request runs, sessions, and errors.
  let login: Command<LoginForm, Session>

  init(request: @escaping LoginRequest) {
    login = Command(input: LoginForm(), isAllowed: \.isValid) { try await request($0.normalised) }
  }

  /// The fields and their results, now and after each change.
  var forms: LatestValues<LoginForm> { form.values }

  func setEmail(_ email: String) { change { $0.email = email } }

  func setPassword(_ password: String) { change { $0.password = password } }

  private func change(_ body: (inout LoginForm) -> Void) {
    var next = form.value
    body(&next)
    form.publish(next)
    login.update(next)
  }
}
