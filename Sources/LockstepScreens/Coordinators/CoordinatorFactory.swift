/// Makes the coordinators of the product.
struct CoordinatorFactory: Sendable {
  let reactors: ReactorFactory

  /// All of them: one more is one more line.
  var coordinators: [any ScreenCoordinator] {
    [
      LoginCoordinator(factory: reactors), ProfileCoordinator(factory: reactors),
      FavoritesCoordinator(factory: reactors),
    ]
  }
}
