/// The services that the built-in screens use. A test replaces them here.
public struct ScreenComponents: Sendable {
  /// Logs users in.
  public var accounts: any LogInService
  /// The rules for typed text.
  public var validators: ScreenValidators
  /// The upstream must accept a profile before it is saved.
  public var upstream: any ProfileUpstream
  /// Writes dates for people.
  public var dates: any DateTexts

  /// The services of a server.
  public init(
    accounts: any LogInService,
    validators: ScreenValidators,
    upstream: any ProfileUpstream,
    dates: any DateTexts
  ) {
    self.accounts = accounts
    self.validators = validators
    self.upstream = upstream
    self.dates = dates
  }
}
