import LockstepAccounts
import LockstepTime

/// The services that the built-in screens use. Tests replace them here.
package struct ScreenServices: Sendable {
  var accounts: any LogInService
  /// The longest password that the login screen accepts.
  var maximumPasswordBytes: Int
  var states: any UserStates
  /// The upstream must accept a profile before it is saved.
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

  /// The built-in screens. Add a screen here.
  package var kinds: [ScreenKind] {
    [
      .withoutSession(LoginReactor.declaration) {
        LoginReactor(accounts: accounts, maximumPasswordBytes: maximumPasswordBytes)
      },
      .forSession(WorkingHistoryReactor.declaration) { session in
        let user = try await states.follow(session)
        return WorkingHistoryReactor(session: session, states: states, user: user, upstream: upstream)
      },
      .forSession(FavoritesTopReactor.declaration { FavoritesCoordinator().next(for: $0)?.href }) { session in
        FavoritesTopReactor(user: try await states.follow(session))
      },
      .forSession(PhotoDetailReactor.declaration, .name("photoId")) { session, photoId in
        let user = try await states.follow(session)
        return await PhotoDetailReactor(photoId: photoId, session: session, states: states, user: user, dates: dates)
      },
    ]
  }
}
