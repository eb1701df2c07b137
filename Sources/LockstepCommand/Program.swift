import LockstepComposition
import LockstepLogging
import LockstepScreens

/// The modules and screens that a program adds to Lockstep's own.
struct Program: Sendable {
  var modules: [UserModule] = []
  var screens: [ScreenDeclaration] = []

  /// The names that no collection can have.
  var taken: Set<String> {
    Services.namesWithoutDeclarations.union(modules.map(\.name)).union(screens.map(\.name))
  }

  /// Sends a command's requests to the administration of a store. Warnings and errors of a store that this process
  /// opens go to standard error.
  func channel(_ configuration: Configuration, _ signals: SignalInterceptor? = nil) throws -> AdministrationChannel {
    let logger = Logger(level: .warning, format: .text, now: TimeSource.system.now) {
      Terminal.error(String(decoding: $0, as: UTF8.self))
    }
    return try AdministrationChannel(
      configuration,
      modules: modules,
      screens: screens,
      interruption: signals,
      logger: logger
    )
  }
}
