import LockstepCollections
import LockstepReactor

extension ScreenDeclaration {
  /// `recentFavorites`: the favorites that were added or changed last.
  static let recentFavorites = user(
    "recentFavorites",
    follows: ["favorites"],
    actions: [
      ActionCase("viewWillAppear") { .viewWillAppear },
      ActionCase("tapPhoto", .index("row")) { .tapPhoto(row: $0) },
      ActionCase("setActive", .flag("value")) { .setActive($0) },
    ],
    state: RecentFavoritesReactor.format(RecentFavoritesCoordinator())
  ) { _, user in RecentFavoritesReactor(user: user) }
}

/// Returns the link from the latest favorites to the photo of a row.
struct RecentFavoritesCoordinator: Coordinator {
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
