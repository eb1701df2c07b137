import LockstepAccounts
import LockstepReactor
import LockstepScreens

extension PasswordLength {
  init(_ password: Password) { self.init(characters: password.characterCount, bytes: password.byteCount) }
}

extension AsyncValidator<String> {
  /// The form of an e-mail address. It does not reveal whether an account has the address.
  static func address(_ language: ScreenLanguage) -> AsyncValidator {
    AsyncValidator(
      Validator(normalise: { $0.trimmingWhitespace() }) { text in
        switch Validator.emailAddress.validate(text) {
        case .empty: .empty(message: ScreenText.noAddress[language])
        case .ok: .ok(message: ScreenText.validAddress[language])
        case .failed(let message):
          .failed(message: language == .en ? message : ScreenText.invalidAddress[language])
        case let result: result
        }
      }
    )
  }
}

extension AsyncValidator<PasswordLength> {
  /// The rule for the length of a password. It must not lock out a user whose password was set by other
  /// rules. So if the password is shorter than new ones may be, the store decides, which knows the
  /// shortest length. This length is the same for all addresses, so it reveals nothing about accounts.
  static func length(
    _ rules: PasswordRules,
    _ language: ScreenLanguage,
    shortest: @escaping @Sendable () async throws -> Int
  ) -> AsyncValidator {
    let valid = ValidationResult.ok(message: ScreenText.validPassword[language])
    let immediate = Validator<PasswordLength> { length in
      if length.bytes == 0 { return .empty(message: ScreenText.noPassword[language]) }
      if length.bytes > rules.maximumBytes {
        return .failed(message: ScreenText.longPassword(rules.maximumBytes)[language])
      }
      return length.characters < rules.minimumCharacters
        ? .validating(message: ScreenText.checkingPassword[language]) : valid
    }
    return AsyncValidator(immediate) { length in
      let least = try await shortest()
      return length.characters < least ? .failed(message: ScreenText.shortPassword(least)[language]) : valid
    }
  }
}
