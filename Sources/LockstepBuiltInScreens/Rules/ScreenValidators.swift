import LockstepReactor
import LockstepScreens

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
}

/// The length of a password. A rule of the login screen gets only this, and not the password.
public struct PasswordLength: Sendable, Equatable {
  /// The number of Unicode scalars.
  public let characters: Int
  /// The number of bytes in UTF-8.
  public let bytes: Int

  /// A length.
  public init(characters: Int, bytes: Int) { (self.characters, self.bytes) = (characters, bytes) }
}
