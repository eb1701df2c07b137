/// Makes the reactors of a program. Each gets the services that it needs in its initializer.
///
/// `Components` is a type of the program that holds the services. Write one function for each reactor:
///
///     extension ReactorFactory<Components> {
///       func favorites() -> FavoritesReactor { FavoritesReactor(service: components.favorites) }
///     }
///
/// A test replaces a service in the components, and makes the same factory.
public struct ReactorFactory<Components: Sendable>: Sendable {
  /// The services.
  public let components: Components

  /// A factory with these services.
  public init(_ components: Components) { self.components = components }
}

/// Makes the coordinators of a program. Each gets the factories that it needs in its initializer.
///
///     extension CoordinatorFactory<Components> {
///       func favorites() -> FavoritesCoordinator { FavoritesCoordinator(reactors: reactors, coordinators: self) }
///     }
public struct CoordinatorFactory<Components: Sendable>: Sendable {
  /// Makes the reactors of the coordinators' destinations.
  public let reactors: ReactorFactory<Components>

  /// A factory with these services.
  public init(_ components: Components) { reactors = ReactorFactory(components) }

  /// The services.
  public var components: Components { reactors.components }
}
