/// Makes the coordinators of the built-in screens.
package struct CoordinatorFactory: Sendable {
  let reactors: ReactorFactory

  package init(reactors: ReactorFactory) { self.reactors = reactors }

  /// Add a coordinator here.
  package var coordinators: [any ScreenCoordinator] {
    [
      LoginCoordinator(factory: reactors), ProfileCoordinator(factory: reactors),
      FavoritesCoordinator(factory: reactors),
    ]
  }
}
