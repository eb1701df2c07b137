import LockstepReactor
import LockstepScreens

extension ReactorFactory<ScreenComponents> {
  func login(_ screen: ScreenContext, device: String?) -> LoginReactor {
    LoginReactor(screen: screen, device: device, accounts: components.accounts, validators: components.validators)
  }

  func workingHistory(_ screen: ScreenContext, _ user: ScreenUser) -> WorkingHistoryReactor {
    WorkingHistoryReactor(
      screen: screen,
      user: user,
      upstream: components.upstream,
      validators: components.validators
    )
  }

  func favoritesTop(_ user: ScreenUser) -> FavoritesTopReactor { FavoritesTopReactor(user: user) }

  func recentFavorites(_ user: ScreenUser) -> RecentFavoritesReactor { RecentFavoritesReactor(user: user) }

  func photoDetail(_ photoId: String, _ screen: ScreenContext, _ user: ScreenUser) async -> PhotoDetailReactor {
    await PhotoDetailReactor(photoId: photoId, screen: screen, user: user, dates: components.dates)
  }
}

extension CoordinatorFactory<ScreenComponents> {
  func login() -> LoginCoordinator { LoginCoordinator(favorites: favorites()) }
  func favorites() -> FavoritesCoordinator { FavoritesCoordinator() }
  func recentFavorites() -> RecentFavoritesCoordinator { RecentFavoritesCoordinator() }
}
