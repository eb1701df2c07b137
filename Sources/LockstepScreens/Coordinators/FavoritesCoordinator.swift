import LockstepReactor

/// From the list of favorites to each of them.
struct FavoritesCoordinator: ScreenCoordinator, Coordinator {
  let factory: ReactorFactory

  var start: ScreenLink { ScreenLink("favoritesTop") }

  var screens: [ScreenKind] {
    [
      .forSession(FavoritesTopReactor.declaration { next(for: $0)?.href }) { session in
        try await factory.favoritesTop(of: session)
      },
      .forSession(PhotoDetailReactor.declaration, .name("photoId")) { session, photoId in
        try await factory.photoDetail(photoId, of: session)
      },
    ]
  }

  /// The screen that a route leads to.
  func next(for route: FavoritesTopReactor.Route) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): ScreenLink("photoDetail", ["photoId": photoId])
    }
  }
}
