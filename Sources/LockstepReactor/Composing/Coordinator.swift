/// Something that a program can show, such as a view, a dialog or a link.
///
/// Several coordinators may have the same presentable as a destination.
public protocol Presentable: Sendable {
  /// The thing that the program shows for it: a view controller in an app, a URL on a server.
  associatedtype Presentation: Sendable

  /// Makes the presentation.
  func present() async -> Presentation
}

/// A flow of a program, such as the way from a list to its details: it decides where the flow begins, where its
/// routes lead, and when it ends.
///
/// A reactor names a route and does not know its destination. Keep the route in a ``Pulse`` of the state, because
/// taking the same route twice is two events.
///
///     struct State { @Pulse var route: Route? }
///
///     await coordinator.follow(host.states.pulse(\.$route)) { screen in … }
///
/// A coordinator starts another one, its child, by waiting for the child's `start()`. The child exists as long as
/// this call. To run several children at once, start them in a task group.
public protocol Coordinator: Sendable {
  /// The names of the destinations. A flow without routes of its own has none.
  associatedtype Route: Sendable & Equatable = Never
  /// The destinations of the routes.
  associatedtype Next: Presentable = Never
  /// The result of the flow, for the coordinator that has started it.
  associatedtype Outcome: Sendable = Void

  /// Starts the flow, and returns its outcome when it has ended. If the task is cancelled, the flow ends too.
  ///
  /// If another program runs the flow, such as a client of a server, the outcome is the first destination. The
  /// default does nothing, for a coordinator that only turns routes into destinations.
  func start() async -> Outcome

  /// The destination of a route; `nil` if the route has none.
  func next(for route: Route) -> Next?
}

extension Coordinator where Outcome == Void {
  /// Returns at once.
  public func start() async {}
}

extension Coordinator where Route == Never {
  /// There is no route.
  public func next(for route: Never) -> Next? {}
}

extension Coordinator {
  /// Reads `routes` and presents their destinations, until the sequence ends or the task is
  /// cancelled. Skips `nil` and routes without a destination.
  ///
  /// A route that is already set is followed too. The next route is read when `show` has returned. So if `show`
  /// starts a child, the next route waits until the child has ended.
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

extension Never: Presentable {
  /// There is no presentation.
  public func present() async -> Never { switch self {} }
}
