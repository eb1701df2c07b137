import LockstepReactor

/// The list of favorites, and the photo that a row leads to.
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

  func next(for route: FavoritesTopReactor.Route) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): ScreenLink("photoDetail", ["photoId": photoId])
    }
  }
}
