import LockstepClient
import LockstepReactor
import Observation

/// The ways from the list of favorites.
public enum FavoritesRoute: Sendable, Equatable {
  case login
  case profile
}

/// The list of favorites, and the sheets above it. Ends when the device has no user any more.
@MainActor
@Observable
public final class FavoritesCoordinator: Coordinator {
  /// The list.
  public let model: FavoritesModel
  /// The sheet above the list. A view sets it to nil when the user swipes the sheet away. Then its flow ends.
  public var sheet: FavoritesSheet? {
    didSet { if sheet == nil { oldValue?.end() } }
  }
  @ObservationIgnored private let client: LockstepClient
  @ObservationIgnored private let coordinators: CoordinatorFactory<AppComponents>
  @ObservationIgnored private let routes = AsyncStream.makeStream(of: FavoritesRoute?.self)

  init(_ model: FavoritesModel, _ client: LockstepClient, coordinators: CoordinatorFactory<AppComponents>) {
    (self.model, self.client, self.coordinators) = (model, client, coordinators)
  }

  /// Follows the routes until the user has logged out.
  public func start() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self, routes = routes.stream] in
        await follow(routes) { await show($0) }
      }
      for await status in client.statuses where status.hasNoUser { break }
      group.cancelAll()
    }
  }

  /// Takes a route.
  public func open(_ route: FavoritesRoute) { routes.continuation.yield(route) }

  /// The sheet of a route.
  nonisolated public func next(for route: FavoritesRoute) -> FavoritesDestination? {
    FavoritesDestination(route: route, coordinators: coordinators)
  }

  private func show(_ sheet: FavoritesSheet) async {
    self.sheet = sheet
    await sheet.start()
    self.sheet = nil
  }
}

/// Makes the sheet of a route.
public struct FavoritesDestination: Presentable {
  let route: FavoritesRoute
  let coordinators: CoordinatorFactory<AppComponents>

  /// Makes the child coordinator.
  @MainActor
  public func present() async -> FavoritesSheet {
    switch route {
    case .login: .login(coordinators.login())
    case .profile: .profile(coordinators.profile())
    }
  }
}

/// A sheet above the list of favorites. A child coordinator runs it.
public enum FavoritesSheet: Identifiable, Sendable {
  case login(LoginCoordinator)
  case profile(ProfileCoordinator)

  /// Identifies the sheet.
  public var id: ObjectIdentifier {
    switch self {
    case .login(let login): ObjectIdentifier(login)
    case .profile(let profile): ObjectIdentifier(profile)
    }
  }

  @MainActor
  fileprivate func end() {
    switch self {
    case .login(let login): login.cancel()
    case .profile(let profile): profile.done()
    }
  }

  @MainActor
  fileprivate func start() async {
    switch self {
    case .login(let login): _ = await login.start()
    case .profile(let profile): await profile.start()
    }
  }
}
