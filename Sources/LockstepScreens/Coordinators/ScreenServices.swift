import LockstepAccounts
import LockstepTime

/// The services that the built-in screens use. Tests replace them here.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// The longest password that the login screen accepts.
  var maximumPasswordBytes: Int
  var states: any UserStates
  /// Must accept a profile before it is saved.
  package var upstream: any ProfileUpstream
  var dates: any DateTexts

  package init(
    accounts: any LogInService,
    maximumPasswordBytes: Int,
    states: any UserStates,
    upstream: any ProfileUpstream,
    dates: any DateTexts
  ) {
    self.accounts = accounts
    self.maximumPasswordBytes = maximumPasswordBytes
    self.states = states
    self.upstream = upstream
    self.dates = dates
  }

  /// The coordinators of the built-in screens. Add a coordinator here.
  package var coordinators: [any ScreenCoordinator] {
    [
      LoginCoordinator(services: self), ProfileCoordinator(services: self), FavoritesCoordinator(services: self),
    ]
  }
}
