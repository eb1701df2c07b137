/// Something that a program can go to: a screen, a dialog, a link.
public protocol Presentable: Sendable {
  /// What is shown to present it: a view controller on a phone, an address on a server.
  associatedtype Presentation: Sendable

  /// Makes what is shown.
  func present() async -> Presentation
}

/// Turns a route into the next place. A reactor says *where to*; only a coordinator knows *what is there*.
///
/// A route is a field of a reactor's state, and a ``Pulse``, because going to the same place twice is
/// two goings:
///
///     struct State { @Pulse var route: Route? }
///
///     await coordinator.follow(host.states.pulse(\.$route)) { screen in … }
public protocol Coordinator: Sendable {
  /// The routes it understands.
  associatedtype Route: Sendable & Equatable
  /// What it turns them into.
  associatedtype Next: Presentable

  /// The place that a route leads to; `nil` when it leads nowhere.
  func next(for route: Route) -> Next?
}

extension Coordinator {
  /// Goes wherever `routes` lead, until they end or the task is cancelled; `nil` is to stay.
  ///
  /// A route that stands at the start is followed too. Of several within one look the latest wins.
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
