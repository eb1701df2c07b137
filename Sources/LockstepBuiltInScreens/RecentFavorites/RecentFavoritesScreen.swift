import LockstepCollections
import LockstepReactor
import LockstepScreens

extension ScreenDeclaration {
  /// `recentFavorites`: the favorites that were added or changed last.
  static func recentFavorites(
    _ coordinator: RecentFavoritesCoordinator,
    reactor: @escaping @Sendable (ScreenUser) -> RecentFavoritesReactor
  ) -> ScreenDeclaration {
    user(
      "recentFavorites",
      follows: ["favorites"],
      actions: [
        ActionCase("viewWillAppear") { .viewWillAppear },
        ActionCase("tapPhoto", .index("row")) { .tapPhoto(row: $0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: RecentFavoritesReactor.format(coordinator)
    ) { _, user in reactor(user) }
  }
}

/// The way from the latest favorites to the photo of a row.
struct RecentFavoritesCoordinator: Coordinator {
  func start() -> ScreenLink { ScreenLink("recentFavorites") }

  func next(for route: PhotoRoute) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): .photoDetail(photoId)
    }
  }
}

extension RecentFavoritesReactor {
  /// The coordinator knows the screens that the routes open.
  static func format(_ coordinator: RecentFavoritesCoordinator) -> ValueFormat<State> {
    let photo = ValueFormat<Photo>(.member("id", .text, \.id), .optional("title", .text, \.title))
    return ValueFormat(
      .member("photos", .list(of: photo), \.photos),
      .pulse("route", .photoRoute(coordinator), \.$route)
    )
  }
}
