/// A destination of a program: a screen, a dialog, a link.
public protocol Presentable: Sendable {
  /// How it is presented: a view controller on a phone, an address on a server.
  associatedtype Presentation: Sendable

  /// Makes the presentation.
  func present() async -> Presentation
}

/// Turns a route, which a reactor names, into a destination, which the reactor does not know.
///
/// A route is a field of a state, and a ``Pulse``: going to the same place twice is two events.
///
///     struct State { @Pulse var route: Route? }
///
///     await coordinator.follow(host.states.pulse(\.$route)) { screen in … }
public protocol Coordinator: Sendable {
  /// The routes that it knows.
  associatedtype Route: Sendable & Equatable
  /// Its destinations.
  associatedtype Next: Presentable

  /// The destination of a route; `nil` if it has none.
  func next(for route: Route) -> Next?
}

extension Coordinator {
  /// Presents the destinations of `routes` until they end or the task is cancelled. For `nil`,
  /// presents nothing.
  ///
  /// A route that is set at the start is followed too.
  public func follow<Routes: AsyncSequence>(
    _ routes: Routes,
    show: (Next.Presentation) async -> Void
  ) async throws(Routes.Failure) where Routes.Element == Route? {
    for try await route in routes {
      guard let route, let next = next(for: route) else { continue }
      await show(await next.present())
    }
  }
}
