import LockstepReactor

extension ReactorFactory<AppComponents> {
  /// The list of favorites.
  @MainActor
  public func favorites() -> FavoritesModel {
    FavoritesModel(components.client, newPhotoID: components.newPhotoID)
  }

  /// The form for the profile.
  @MainActor
  public func profile() -> ProfileForm { ProfileForm(components.client) }
}

extension CoordinatorFactory<AppComponents> {
  /// The root of the app.
  @MainActor
  public func app() -> AppCoordinator { AppCoordinator(components.client, coordinators: self) }

  /// The login, which the app shows on a new device, and the favorites when a session has ended.
  @MainActor
  public func login() -> LoginCoordinator { LoginCoordinator(components.client) }

  /// The list of favorites, and the sheets above it.
  @MainActor
  public func favorites() -> FavoritesCoordinator {
    FavoritesCoordinator(reactors.favorites(), components.client, coordinators: self)
  }

  /// The form for the profile.
  @MainActor
  public func profile() -> ProfileCoordinator { ProfileCoordinator(reactors.profile()) }
}
