/// Makes the coordinators of the product.
package struct CoordinatorFactory: Sendable {
  let reactors: ReactorFactory

  package init(reactors: ReactorFactory) {
    self.reactors = reactors
  }

  /// All of them: one more is one more line.
  package var coordinators: [any ScreenCoordinator] {
    [
      LoginCoordinator(factory: reactors), ProfileCoordinator(factory: reactors),
      FavoritesCoordinator(factory: reactors),
    ]
  }
}
