/// Makes the reactors of screens with what they need.
struct ReactorFactory: Sendable {
  let services: ScreenServices

  func favoritesTop(of session: LiveSession) async throws -> FavoritesTopReactor {
    FavoritesTopReactor(user: try await services.states.follow(session))
  }
}
