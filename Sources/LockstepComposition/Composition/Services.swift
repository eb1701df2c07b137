import LockstepHTTP
import LockstepThreading

/// The part of a store that readiness checks need.
public protocol StoreHealth: Sendable {
  /// Returns when a test write is on disk. Throws an error if the write fails.
  func checkWritable() async throws
}

extension DurableStore: StoreHealth {}

/// The services of a server. Tests replace them.
public struct Services: Sendable {
  /// The health of the store.
  public var store: any StoreHealth
  /// The store in the log.
  let storeName: String
  var users: UserServices
  /// Shuts all services down, and blocks until they have finished their work.
  public var shutDown: @Sendable () -> Void
  /// Cancels waits for a database, so that `shutDown` can end: if the argument is false, all waits but those of the
  /// feed; if it is true, those of the feed.
  let cancelWaits: @Sendable (_ ofFeed: Bool) -> Void

  private static func open(
    _ configuration: Configuration,
    _ migrator: Migrator,
    _ time: TimeSource,
    _ placement: WorkPlacement,
    _ onWait: @escaping @Sendable (any Error) -> Void
  ) throws(StoreError) -> DurableStore {
    if let database = configuration.store {
      return try DurableStore(
        postgreSQL: database,
        version: lockstepVersion,
        time: time,
        onWait: onWait,
        migrator: migrator
      )
    }
    return try DurableStore(
      path: configuration.data,
      time: time,
      options: .init(
        lockPatience: .seconds(1),
        writer: .init(counter: placement.counter),
        counter: placement.counter
      ),
      migrator: migrator
    )
  }

  /// Opens the store that the configuration names, and creates the services of a server with these
  /// modules besides `favorites`, `defaults` and `profile`, and with these screens besides the
  /// built-in ones. The caller must shut them down.
  ///
  /// A PostgreSQL server that cannot be reached is tried again for half a minute. `onWait` then gets the
  /// first failure.
  ///
  /// Throws `InvalidModuleError` if a module is invalid, `InvalidScreenError` if a screen is, and
  /// `StoreError` if the store cannot be opened.
  public static func durable(
    _ configuration: Configuration,
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = [],
    time: TimeSource,
    placement: WorkPlacement = WorkPlacement(),
    onWait: @escaping @Sendable (any Error) -> Void = { _ in }
  ) throws -> Services {
    try ModuleCheck.check(modules)
    try ScreenCheck.check(screens, modules: modules)
    let store = try open(configuration, Migrator(modules: modules), time, placement, onWait)
    do {
      let users = try UserServices(
        configuration,
        own: modules,
        ownScreens: screens,
        store: store,
        time: time,
        placement: placement
      )
      return Services(
        store: store,
        storeName: store.name,
        users: users,
        shutDown: {
          users.shutDown()
          store.close()
        },
        cancelWaits: { ofFeed in ofFeed ? store.cancelFeed() : store.cancelWaits() }
      )
    } catch {
      store.close()
      throw error
    }
  }
}
