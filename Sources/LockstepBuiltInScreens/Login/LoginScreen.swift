import LockstepAccounts
import LockstepCollections
import LockstepReactor
import LockstepScreens

extension ScreenDeclaration {
  /// `login`: a form for an e-mail address and a password.
  static func login(
    _ coordinator: LoginCoordinator,
    reactor: @escaping @Sendable (ScreenContext, _ device: String?) -> LoginReactor
  ) -> ScreenDeclaration {
    anonymous(
      "login",
      .deviceName("device"),
      actions: [
        ActionCase("setUsername", .typed("value")) { .setUsername($0) },
        ActionCase("setPassword", .secret("value")) { .setPassword(Password($0)) },
        ActionCase("submit", .network) { .submit($0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: LoginReactor.format(coordinator),
      reactor: reactor
    )
  }
}

/// The way to a session, and then to the favorites, which another coordinator knows.
struct LoginCoordinator: Coordinator {
  var favorites = FavoritesCoordinator()

  func start() -> ScreenLink { ScreenLink("login") }

  func next(for route: LoginRoute) -> ScreenLink? {
    switch route {
    case .favorites: favorites.start()
    }
  }
}

extension LoginReactor {
  /// The coordinator knows the screen that follows.
  static func format(_ coordinator: LoginCoordinator) -> ValueFormat<State> {
    let user = ValueFormat<User>(
      .member("id", .text, \.id.description),
      // A user who logs in with a password has an address.
      .member("email", .text) { $0.email ?? "" },
      .member("createdAt", .text, \.createdAt.description)
    )
    let session = ValueFormat<SignedIn>(
      .member("id", .text, \.session.id.description),
      .member("token", .text, \.token.text),
      .member("expiresAt", .text, \.session.expiresAt.description),
      .member("user", user, \.user)
    )
    let route = ValueFormat<LoginRoute>(
      .member("name", .text) { coordinator.next(for: $0)?.name ?? "" },
      .member("href", .text) { coordinator.next(for: $0)?.href ?? "" }
    )
    return ValueFormat(
      .member("username", .text, \.username),
      .member("usernameValidation", .validation, \.usernameValidation),
      .member("passwordValidation", .validation, \.passwordValidation),
      .member("isLoginEnabled", .flag, \.isLoginEnabled),
      .member("isExecuting", .flag, \.isExecuting),
      .optional("progress", .text) { $0.isExecuting ? ScreenText.loggingIn[$0.language] : nil },
      .pulse("error", .message, \.$error),
      .optional("session", session, \.session),
      .pulse("route", route, \.$route)
    )
  }
}
