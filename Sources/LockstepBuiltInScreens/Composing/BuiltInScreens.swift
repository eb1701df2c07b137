import LockstepReactor
import LockstepScreens

/// The screens that a server has besides those of the program.
public enum BuiltInScreens {
  /// The names of the screens, which a program's own screens cannot have.
  public static let names: Set = ["login", "workingHistory", "favoritesTop", "recentFavorites", "photoDetail"]

  /// The screens, with these services. Add a screen here.
  public static func declarations(_ components: ScreenComponents) -> [ScreenDeclaration] {
    let coordinators = CoordinatorFactory(components)
    let reactors = coordinators.reactors
    return [
      .login(coordinators.login()) { reactors.login($0, device: $1) },
      .workingHistory { reactors.workingHistory($0, $1) },
      .favoritesTop(coordinators.favorites()) { reactors.favoritesTop($0) },
      .recentFavorites(coordinators.recentFavorites()) { reactors.recentFavorites($0) },
      .photoDetail { await reactors.photoDetail($0, $1, $2) },
    ]
  }
}
