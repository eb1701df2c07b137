import LockstepBuiltInScreens
import LockstepMaintenance
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading

extension Services {
  /// The names that no collection can be declared with, besides those of the program's modules and
  /// screens.
  package static let namesWithoutDeclarations = ModuleCheck.reserved.union(UserExport.members)
    .union(BuiltInScreens.names)

  /// Opens a store, changes its declared collections, and closes it. Throws `StoreError.inUse` if a server
  /// uses the file. With PostgreSQL, this process is a node of the fleet for this time.
  package static func perform(
    _ work: CollectionsWork,
    key: IdempotencyKey?,
    _ configuration: Configuration,
    modules: [UserModule],
    screens: [ScreenDeclaration] = [],
    time: TimeSource
  ) async throws -> CollectionsOutcome {
    let services = try durable(configuration, modules: modules, screens: screens, time: time)
    defer { services.shutDown() }
    return try await services.users.perform(work, key: key)
  }
}
