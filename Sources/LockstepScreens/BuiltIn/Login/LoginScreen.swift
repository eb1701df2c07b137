import LockstepAccounts
import LockstepCollections
import LockstepReactor
import LockstepStore

extension ScreenDeclaration {
  /// `login`: a form for an e-mail address and a password.
  static func login(_ accounts: any LogInService, maximumPasswordBytes: Int) -> ScreenDeclaration {
    anonymous(
      "login",
      .deviceName,
      actions: [
        ActionCase("setUsername", .typed("value")) { .setUsername($0) },
        ActionCase("setPassword", .secret("value")) { .setPassword(Password($0)) },
        ActionCase("submit", .network) { .submit($0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: LoginReactor.format
    ) { screen, device in
      LoginReactor(
        screen: screen,
        device: device,
        accounts: accounts,
        maximumPasswordBytes: maximumPasswordBytes
      )
    }
  }
}

extension PayloadField<String?> {
  /// The name of the session's device.
  fileprivate static var deviceName: PayloadField {
    .optionalText("device", bytes: 0...4_096).checked { device in
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
  static let format: ValueFormat<State> = {
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
    return ValueFormat(
      .member("username", .text, \.username),
      .member("usernameValidation", .validation, \.usernameValidation),
      .member("passwordValidation", .validation, \.passwordValidation),
      .member("isLoginEnabled", .flag, \.isLoginEnabled),
      .member("isExecuting", .flag, \.isExecuting),
      .optional("progress", .text) { $0.isExecuting ? ScreenText.loggingIn[$0.language] : nil },
      .pulse("error", .message, \.$error),
      .optional("session", session, \.session)
    )
  }()
}
