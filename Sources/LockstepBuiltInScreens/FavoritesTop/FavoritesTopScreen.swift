import LockstepCollections
import LockstepReactor
import LockstepScreens

extension ScreenDeclaration {
  /// `favoritesTop`: the list of a user's favorites.
  static func favoritesTop(
    _ coordinator: FavoritesCoordinator,
    reactor: @escaping @Sendable (ScreenUser) -> FavoritesTopReactor
  ) -> ScreenDeclaration {
    user(
      "favoritesTop",
      follows: ["favorites"],
      actions: [
        ActionCase("viewWillAppear") { .viewWillAppear },
        ActionCase("tapFavoritePhoto", .index("row")) { .tapFavoritePhoto(row: $0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: FavoritesTopReactor.format(coordinator)
    ) { _, user in reactor(user) }
  }
}

/// The way from the list of favorites to the photo of a row.
struct FavoritesCoordinator: Coordinator {
  func start() -> ScreenLink { ScreenLink("favoritesTop") }

  func next(for route: PhotoRoute) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): .photoDetail(photoId)
    }
  }
}

extension FavoritesTopReactor {
  /// The coordinator knows the screens that the routes open.
  static func format(_ coordinator: FavoritesCoordinator) -> ValueFormat<State> {
    ValueFormat(
      .member("favoriteIds", .list(of: .text), \.favoriteIds),
      .pulse("route", .photoRoute(coordinator), \.$route)
    )
  }
}
