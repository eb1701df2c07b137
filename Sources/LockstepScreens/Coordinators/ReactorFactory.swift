import LockstepAccounts

/// Makes the reactors of the built-in screens.
package struct ReactorFactory: Sendable {
  let services: ScreenServices

  package init(services: ScreenServices) {
    self.services = services
  }

  func login() -> LoginReactor {
    LoginReactor(accounts: services.accounts, maximumPasswordBytes: services.passwordRules.maximumBytes)
  }

  func workingHistory(of session: LiveSession) async throws -> WorkingHistoryReactor {
    WorkingHistoryReactor(
      session: session,
      states: services.states,
      user: try await services.states.follow(session),
      upstream: services.upstream
    )
  }

  func photoDetail(_ photoId: String, of session: LiveSession) async throws -> PhotoDetailReactor {
    await PhotoDetailReactor(
      photoId: photoId,
      session: session,
      states: services.states,
      user: try await services.states.follow(session),
      dates: services.dates
    )
  }

  func favoritesTop(of session: LiveSession) async throws -> FavoritesTopReactor {
    FavoritesTopReactor(user: try await services.states.follow(session))
  }
}
