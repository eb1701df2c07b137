import LockstepCollections
import LockstepReactor

extension ScreenDeclaration {
  /// `favoritesTop`: the list of a user's favorites.
  static let favoritesTop = user(
    "favoritesTop",
    follows: ["favorites"],
    actions: [
      ActionCase("viewWillAppear") { .viewWillAppear },
      ActionCase("tapFavoritePhoto", .index("row")) { .tapFavoritePhoto(row: $0) },
      ActionCase("setActive", .flag("value")) { .setActive($0) },
    ],
    state: FavoritesTopReactor.format(FavoritesCoordinator())
  ) { _, user in FavoritesTopReactor(user: user) }
}

/// Returns the link from the list of favorites to the photo of a row.
struct FavoritesCoordinator: Coordinator {
  func next(for route: FavoritesTopReactor.Route) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): ScreenLink("photoDetail", ["photoId": photoId])
    }
  }
}

extension FavoritesTopReactor {
  /// The coordinator knows the screens that the routes open.
  static func format(_ coordinator: FavoritesCoordinator) -> ValueFormat<State> {
    let route = ValueFormat<Route>(
      .member("name", .text) { _ in "photoDetail" },
      .member("photoId", .text) { route in
        switch route {
        case .photoDetail(let photoId): photoId
        }
      },
      .optional("href", .text) { coordinator.next(for: $0)?.href }
    )
    return ValueFormat(.member("favoriteIds", .list(of: .text), \.favoriteIds), .pulse("route", route, \.$route))
  }
}
