import LockstepReactor

/// A group of related screens. A coordinator whose screens lead to others is a `Coordinator` too.
package protocol ScreenCoordinator: Sendable {
  /// The screen that a client opens first.
  var start: ScreenLink { get }
  var screens: [ScreenKind] { get }
}

/// The login screen.
struct LoginCoordinator: ScreenCoordinator {
  let services: ScreenServices

  var start: ScreenLink { ScreenLink("login") }

  var screens: [ScreenKind] {
    [
      .withoutSession(LoginReactor.declaration) {
        LoginReactor(accounts: services.accounts, maximumPasswordBytes: services.maximumPasswordBytes)
      }
    ]
  }
}

/// The form for the profile.
struct ProfileCoordinator: ScreenCoordinator {
  let services: ScreenServices

  var start: ScreenLink { ScreenLink("workingHistory") }

  var screens: [ScreenKind] {
    [
      .forSession(WorkingHistoryReactor.declaration) { session in
        WorkingHistoryReactor(
          session: session,
          states: services.states,
          user: try await services.states.follow(session),
          upstream: services.upstream
        )
      }
    ]
  }
}

/// The list of favorites, and the photo that a row leads to.
struct FavoritesCoordinator: ScreenCoordinator, Coordinator {
  let services: ScreenServices

  var start: ScreenLink { ScreenLink("favoritesTop") }

  var screens: [ScreenKind] {
    [
      .forSession(FavoritesTopReactor.declaration { next(for: $0)?.href }) { session in
        FavoritesTopReactor(user: try await services.states.follow(session))
      },
      .forSession(PhotoDetailReactor.declaration, .name("photoId")) { session, photoId in
        await PhotoDetailReactor(
          photoId: photoId,
          session: session,
          states: services.states,
          user: try await services.states.follow(session),
          dates: services.dates
        )
      },
    ]
  }

  func next(for route: FavoritesTopReactor.Route) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): ScreenLink("photoDetail", ["photoId": photoId])
    }
  }
}
