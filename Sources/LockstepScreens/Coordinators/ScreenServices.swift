import LockstepAccounts
import LockstepTime

/// The services that the built-in screens use. Tests replace them here.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  var passwordRules: PasswordRules
  var states: any UserStates
  /// Must accept a profile before it is saved.
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
