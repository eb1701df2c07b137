import LockstepClient
import LockstepReactor
import Observation

/// The root of the app: the favorites, or the login on a device without a user.
@MainActor
@Observable
public final class AppCoordinator: Coordinator {
  /// The part of the app that the window shows.
  public enum Child: Sendable {
    case login(LoginCoordinator)
    case favorites(FavoritesCoordinator)
  }

  /// The part that runs; nil before the start.
  public private(set) var child: Child?
  /// The client of the device.
  @ObservationIgnored public let client: LockstepClient
  @ObservationIgnored private let coordinators: CoordinatorFactory<AppComponents>

  init(_ client: LockstepClient, coordinators: CoordinatorFactory<AppComponents>) {
    (self.client, self.coordinators) = (client, coordinators)
  }

  /// Connects to the server, and runs the parts one after the other until the task is cancelled.
  public func start() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [client] in await client.run() }
      while !Task.isCancelled {
        await showFavorites()
        if !Task.isCancelled { await showLogin() }
      }
    }
    child = nil
  }

  private func showFavorites() async {
    let favorites = coordinators.favorites()
    child = .favorites(favorites)
    await favorites.start()
  }

  private func showLogin() async {
    let login = coordinators.login()
    child = .login(login)
    _ = await login.start()
    for await status in client.statuses where !status.hasNoUser { break }
  }
}

extension ClientStatus {
  /// Whether no user has ever logged in on this device, or the user has logged out.
  var hasNoUser: Bool { connection == .needsLogin && !isReady }
}
