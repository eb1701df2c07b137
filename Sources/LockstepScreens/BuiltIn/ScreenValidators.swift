import LockstepAccounts
import LockstepModules
import LockstepReactor
import LockstepStore

/// The rules for what users type on the built-in screens. A test replaces them:
///
///     try ServerInProcess.run(validators: { $0.username = { _ in slow } }) { server in … }
///
/// Each function gets the context of the screen that is opened, which has the languages of its user.
public struct ScreenValidators: Sendable {
  /// The rule for `username` of `login`.
  public var username: @Sendable (ScreenContext) -> AsyncValidator<String>
  /// The rule for the password of `login`. A rule never gets the password itself.
  public var password: @Sendable (ScreenContext) -> AsyncValidator<PasswordLength>
  /// The rule for `companyName` of `workingHistory`.
  public var companyName: @Sendable (ScreenContext) -> Validator<String>
  /// The rule for `position` of `workingHistory`.
  public var position: @Sendable (ScreenContext) -> Validator<String>

  /// The rules of the server. `shortestPassword` reads the fewest characters that the password of any
  /// user may have. It is called only for passwords that are shorter than new ones may be.
  package init(_ rules: PasswordRules, shortestPassword: @escaping @Sendable () async throws -> Int) {
    username = { .address(ScreenLanguage(of: $0)) }
    password = { .length(rules, ScreenLanguage(of: $0), shortest: shortestPassword) }
    companyName = { .profileText(.noCompanyName, .validCompanyName, ScreenLanguage(of: $0)) }
    position = { .profileText(.noPosition, .validPosition, ScreenLanguage(of: $0)) }
  }
}

/// The length of a password. A rule of the login screen gets only this, and not the password.
public struct PasswordLength: Sendable, Equatable {
  /// The number of Unicode scalars.
  public let characters: Int
  /// The number of bytes in UTF-8.
  public let bytes: Int

  /// A length.
  public init(characters: Int, bytes: Int) { (self.characters, self.bytes) = (characters, bytes) }

  init(_ password: Password) { self.init(characters: password.characterCount, bytes: password.byteCount) }
}

extension AsyncValidator<String> {
  /// The form of an e-mail address. It does not reveal whether an account has the address.
  fileprivate static func address(_ language: ScreenLanguage) -> AsyncValidator {
    AsyncValidator(
      Validator(normalise: { $0.trimmingWhitespace() }) { text in
        if text.isEmpty { return .empty(message: ScreenText.noAddress[language]) }
        do throws(AccountTextError) {
          _ = try EmailAddress(text)
          return .ok(message: ScreenText.validAddress[language])
        } catch {
          return .failed(message: language == .en ? error.description : ScreenText.invalidAddress[language])
        }
      }
    )
  }
}

extension AsyncValidator<PasswordLength> {
  /// The rule for the length of a password. It must not lock out a user whose password was set by other
  /// rules. So if the password is shorter than new ones may be, the store decides, which knows the
  /// shortest length. This length is the same for all addresses, so it reveals nothing about accounts.
  fileprivate static func length(
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

extension Validator<String> {
  /// A text of the profile: trimmed, not empty, and not too long.
  fileprivate static func profileText(
    _ missing: ScreenText,
    _ valid: ScreenText,
    _ language: ScreenLanguage
  ) -> Validator {
    Validator(normalise: { $0.trimmingWhitespace() }) { text in
      switch ProfileReactor.validation(of: text) {
      case .empty: .empty(message: missing[language])
      case .failed: .failed(message: ScreenText.tooLong(text.unicodeScalars.count)[language])
      case .ok: .ok(message: valid[language])
      case let result: result
      }
    }
  }
}
