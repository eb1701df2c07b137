import LockstepAccounts

/// The services that the built-in screens use. Tests replace them here.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// The rules for typed text.
  package var validators: ScreenValidators
  package var users: any ScreenUsers
  /// The upstream must accept a profile before it is saved.
  package var upstream: any ProfileUpstream
  var dates: any DateTexts

  package init(
    accounts: any LogInService,
    validators: ScreenValidators,
    users: any ScreenUsers,
    upstream: any ProfileUpstream,
    dates: any DateTexts
  ) {
    self.accounts = accounts
    self.validators = validators
    self.users = users
    self.upstream = upstream
    self.dates = dates
  }

  /// The built-in screens. Add a screen here.
  package var declarations: [ScreenDeclaration] {
    [
      .login(accounts, validators), .workingHistory(upstream, validators), .favoritesTop, .recentFavorites,
      .photoDetail(dates),
    ]
  }

  /// The names of the built-in screens, which a program's own screens cannot have.
  package static let names: Set = ["login", "workingHistory", "favoritesTop", "recentFavorites", "photoDetail"]
}
