import LockstepBuiltInScreens
import LockstepHTTP
import LockstepScreens
import LockstepThreading

/// The parts of a server without its sockets, for tests in virtual time: they hand requests to it.
///
/// It makes no backups, and has no socket for the operator's commands.
package final class SocketlessServer: Sendable {
  private let services: Services
  private let components: Components

  /// Opens the store, and creates the parts. The store must be a file. `upstream` replaces that of the configuration.
  /// `validators` changes the rules of the built-in screens.
  package init(
    _ configuration: Configuration,
    environment: Environment,
    modules: [UserModule],
    screens: [ScreenDeclaration],
    upstream: any ProfileUpstream,
    validators: (inout ScreenValidators) -> Void
  ) throws {
    var services = try Services.durable(
      configuration,
      modules: modules,
      screens: screens,
      time: environment.time,
      placement: environment.placement
    )
    services.users.screens.services.builtIn.upstream = upstream
    validators(&services.users.screens.services.builtIn.validators)
    do {
      try services.users.accounts.stored.notePasswordRules()
      components = try Components(
        configuration,
        logger: environment.logger(configuration),
        environment: environment,
        services: services,
        loops: 1,
        serverCount: { _ in 0 },
        address: "http://127.0.0.1"
      )
    } catch {
      services.shutDown()
      throw error
    }
    self.services = services
  }

  /// Responds to a request. Every request gets a response.
  package func respond(to request: Request) -> HandlerResult { components.applications[0].respond(to: request) }

  /// Ends all screens. Their tasks end when their executor runs them.
  package func close() {
    components.readiness.beginDraining()
    services.users.liftShares()
    components.screens.close()
  }

  /// Writes to the store what only memory has: the last use of the sessions.
  package func flush() async throws { try await services.users.accounts.stored.directory.flush() }

  /// Whether all tasks of screens have ended, after `close()`.
  package var isIdle: Bool { components.screens.isIdle }

  /// Closes the store. Blocks until all tasks of screens have ended.
  package func shutDown() {
    components.screens.shutDown()
    services.shutDown()
  }
}
