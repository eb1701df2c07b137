import LockstepAccounts
import LockstepTime

/// What the reactors of screens work with. Each can be put in another's place, here and nowhere else.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// What a password must be.
  var passwordRules: PasswordRules
  var states: any UserStates
  /// Who has to take a profile before it's saved.
  package var upstream: any ProfileUpstream
  var dates: any DateTexts

  package init(
    accounts: any LogInService,
    passwordRules: PasswordRules,
    states: any UserStates,
    upstream: any ProfileUpstream,
    dates: any DateTexts
  ) {
    self.accounts = accounts
    self.passwordRules = passwordRules
    self.states = states
    self.upstream = upstream
    self.dates = dates
  }
}
