import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepStore

extension ScreenDeclaration {
  /// `login`: a form for an e-mail address and a password.
  static func login(_ accounts: any LogInService, _ validators: ScreenValidators) -> ScreenDeclaration {
    anonymous(
      "login",
      .deviceName,
      actions: [
        ActionCase("setUsername", .typed("value")) { .setUsername($0) },
        ActionCase("setPassword", .secret("value")) { .setPassword(Password($0)) },
        ActionCase("submit", .network) { .submit($0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: LoginReactor.format(LoginCoordinator())
    ) { screen, device in
      LoginReactor(screen: screen, device: device, accounts: accounts, validators: validators)
    }
  }
}

/// Returns the link to the first screen of a user who has logged in.
struct LoginCoordinator: Coordinator {
  func next(for route: LoginRoute) -> ScreenLink? {
    switch route {
    case .favorites: ScreenLink("favoritesTop")
    }
  }
}

extension PayloadField<String?> {
  /// The name of the session's device.
  fileprivate static var deviceName: PayloadField {
    let text = optionalText("device", bytes: 0...4_096)
    let member = SchemaMember(name: "device", schema: DeviceName.schema, isRequired: false)
    return PayloadField([member], read: text.read).checked { device in
      guard let device else { return nil }
      do throws(AccountTextError) {
        _ = try DeviceName(device)
        return nil
      } catch {
        return error.description
      }
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
