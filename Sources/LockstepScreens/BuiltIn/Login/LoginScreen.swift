import LockstepAccounts
import LockstepCollections
import LockstepReactor

extension ScreenDeclaration {
  /// `login`: a form for an e-mail address and a password.
  static func login(_ accounts: any LogInService, maximumPasswordBytes: Int) -> ScreenDeclaration {
    anonymous(
      "login",
      actions: [
        ActionCase("setUsername", .typed("value")) { .setUsername($0) },
        ActionCase("setPassword", .secret("value")) { .setPassword(Password($0)) },
        ActionCase("submit", .network) { .submit($0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: LoginReactor.format
    ) { _ in LoginReactor(accounts: accounts, maximumPasswordBytes: maximumPasswordBytes) }
  }
}

extension LoginReactor {
  static let format: ValueFormat<State> = {
    let user = ValueFormat<User>(
      .member("id", .text, \.id.description),
      .member("email", .text, \.email),
      .member("createdAt", .text, \.createdAt.description)
    )
    let session = ValueFormat<SignedIn>(
      .member("id", .text, \.session.id.description),
      .member("token", .text, \.token.text),
      .member("expiresAt", .text, \.session.expiresAt.description),
      .member("user", user, \.user)
    )
    return ValueFormat(
      .member("username", .text, \.username),
      .member("usernameValidation", .validation, \.usernameValidation),
      .member("passwordValidation", .validation, \.passwordValidation),
      .member("isLoginEnabled", .flag, \.isLoginEnabled),
      .member("isExecuting", .flag, \.isExecuting),
      .optional("error", .text, \.error),
      .optional("session", session, \.session)
    )
  }()
}
