import LockstepHTTPServer
import LockstepLogging
import LockstepRoutes
import LockstepScreens
import LockstepStore

extension Components {
  /// The directory of screens, which end with their sessions; nil without users.
  static func screens(
    _ configuration: Configuration,
    _ environment: Environment,
    _ services: Services,
    _ logger: Logger
  ) throws -> ScreenDirectory? {
    guard let users = services.users, services.screens != nil else { return nil }
    let directory = ScreenDirectory(
      limits: configuration.screens,
      waiting: configuration.waiting,
      random: try Sodium().randomWord,
      monotonic: environment.time.monotonic,
      logger: logger
    )
    try directory.startExpiry(by: environment.clock)
    users.accounts.directory.whenEnded { [weak directory] in directory?.end(sessions: $0) }
    return directory
  }

  /// The routes of the screens; nil if there are none.
  static func screenRoutes(
    _ configuration: Configuration,
    _ environment: Environment,
    _ services: Services,
    _ userRoutes: UserRoutes,
    _ directory: ScreenDirectory,
    _ logger: Logger
  ) -> ScreenRoutes? {
    guard var screens = services.screens else { return nil }
    screens.upstream = LoggingProfileUpstream(screens.upstream, logger: logger, monotonic: environment.time.monotonic)
    let kinds = screens.kinds
    return ScreenRoutes(
      kinds: kinds,
      catalogue: Catalogue.document(modules: userRoutes.users.modules, screens: kinds),
      directory: directory,
      authenticator: userRoutes.authenticator,
      longestWait: configuration.longestWait,
      monotonic: environment.time.monotonic
    )
  }
}
