import LockstepAccounts

/// The services that the built-in screens use. Tests replace them here.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// The longest password that the login screen accepts.
  var maximumPasswordBytes: Int
  package var users: any ScreenUsers
  /// The upstream must accept a profile before it is saved.
  package var upstream: any ProfileUpstream
  var dates: any DateTexts

  package init(
    accounts: any LogInService,
    maximumPasswordBytes: Int,
    users: any ScreenUsers,
    upstream: any ProfileUpstream,
    dates: any DateTexts
  ) {
    self.accounts = accounts
    self.maximumPasswordBytes = maximumPasswordBytes
    self.users = users
    self.upstream = upstream
    self.dates = dates
  }

  /// The built-in screens. Add a screen here.
  package var declarations: [ScreenDeclaration] {
    [
      .login(accounts, maximumPasswordBytes: maximumPasswordBytes), .workingHistory(upstream), .favoritesTop,
      .recentFavorites, .photoDetail(dates),
    ]
  }

  /// The names of the built-in screens, which a program's own screens cannot have.
  package static let names: Set = ["login", "workingHistory", "favoritesTop", "recentFavorites", "photoDetail"]
}
