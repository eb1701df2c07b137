/// Something that a program can show, such as a view, a dialog or a link.
public protocol Presentable: Sendable {
  /// The thing that the program shows for it: a view controller in an app, a URL on a server.
  associatedtype Presentation: Sendable

  /// Makes the presentation.
  func present() async -> Presentation
}

/// Turns routes into destinations. A reactor names a route and does not know its destination.
///
/// Keep the route in a ``Pulse`` of the state, because taking the same route twice is two events.
///
///     struct State { @Pulse var route: Route? }
///
///     await coordinator.follow(host.states.pulse(\.$route)) { screen in … }
public protocol Coordinator: Sendable {
  /// The names of the destinations.
  associatedtype Route: Sendable & Equatable
  /// The destinations of the routes.
  associatedtype Next: Presentable

  /// The destination of a route; `nil` if the route has none.
  func next(for route: Route) -> Next?
}

extension Coordinator {
  /// Reads `routes` and presents their destinations, until the sequence ends or the task is
  /// cancelled. Skips `nil` and routes without a destination.
  ///
  /// A route that is already set is followed too.
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
