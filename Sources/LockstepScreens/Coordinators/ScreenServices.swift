/// What the reactors of screens work with. Each can be put in another's place, here and nowhere else.
struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// What a password must be.
  var passwordRules: PasswordRules
  var states: any UserStates
  /// Who has to take a profile before it's saved.
  var upstream: any ProfileUpstream
  var dates: any DateTexts
}
