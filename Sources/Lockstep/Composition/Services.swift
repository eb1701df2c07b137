/// The part of a store that readiness checks need.
public protocol StoreHealth: Sendable {
  /// Returns when a test write is on disk. Throws an error if that is not possible.
  func checkWritable() async throws
}

extension DurableStore: StoreHealth {}

/// The services of a server. Tests replace them.
public struct Services: Sendable {
  /// The health of the store.
  public var store: any StoreHealth
  /// The services for users; `nil` if the server has no users.
  var users: UserServices?
  /// Shuts all services down after their last use. Blocks until they have finished their work.
  public var shutDown: @Sendable () -> Void

  /// Creates services from their parts.
  public init(store: any StoreHealth, shutDown: @escaping @Sendable () -> Void = {}) {
    self.store = store
    self.shutDown = shutDown
  }

  /// The services of a real server, on the store that the configuration names.
  ///
  /// - Parameters:
  ///   - configuration: The configuration.
  ///   - modules: The modules besides favorites, defaults and profiles.
  ///   - time: The clocks.
  /// - Returns: The services. The caller must shut them down.
  /// - Throws: `InvalidModuleError` if a module is invalid; `StoreError` if the store cannot be
  ///   opened.
  public static func durable(
    _ configuration: Configuration,
    modules: [UserModule] = [],
    time: TimeSource
  ) throws -> Services {
    try ModuleCheck.check(modules)
    let store = try DurableStore(
      path: configuration.data,
      time: time,
      options: .init(lockPatience: .seconds(1)),
      migrator: Migrator(of: modules)
    )
    do {
      let users = try UserServices(configuration, own: modules, store: store, time: time)
      var services = Services(store: store) {
        users.shutDown()
        store.close()
      }
      services.users = users
      return services
    } catch {
      store.close()
      throw error
    }
  }
}
