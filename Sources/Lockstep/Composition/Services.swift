import LockstepCollections
import LockstepHTTPServer
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepThreading
import LockstepTime

/// Checks that a store works. `/readyz` calls it.
public protocol StoreHealth: Sendable {
  /// Writes something and returns when it is on disk.
  func checkWritable() async throws
}

extension DurableStore: StoreHealth {}

/// The services of a server, real or made by a test.
public struct Services: Sendable {
  /// The store's health.
  public var store: any StoreHealth
  /// The services of users; nil if only the routes about the server are served.
  var users: UserServices?
  /// The services of screens; nil without users.
  var screens: ScreenServices?
  /// Writes the metrics of the store's files and pools; nil without a store.
  var writeMetrics: (@Sendable (inout MetricsPage) -> Void)?
  /// Shuts the services down. Blocks until their work is done.
  public var shutDown: @Sendable () -> Void

  /// Services of their parts.
  public init(store: any StoreHealth, shutDown: @escaping @Sendable () -> Void = {}) {
    self.store = store
    self.shutDown = shutDown
  }

  /// The number of encoder threads.
  static let encodingThreads = 2

  /// Services on the store of the configuration.
  ///
  /// - Parameters:
  ///   - configuration: The configuration.
  ///   - modules: The server's own modules.
  ///   - time: The clocks.
  /// - Returns: The services, which the caller must shut down.
  /// - Throws: `InvalidModuleError` if a module is invalid, `StoreError` if the store cannot be opened.
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
      // Few threads and a short queue, so that many logins slow only logins.
      let hashing = try WorkerPool(name: "hash", threads: 2, capacity: 64)
      let encoding = try WorkerPool(name: "encode", threads: encodingThreads, capacity: 4_096)
      // Each zone is read once, nearly always from the system's disk cache.
      let zones = try WorkerPool(name: "zone", threads: 1, capacity: 64)
      let upstream = try configuration.profileUpstream.map { try HTTPProfileUpstream($0) }
      var services = Services(store: store) {
        upstream?.shutDown()
        zones.shutDown()
        hashing.shutDown()
        encoding.shutDown()
        store.close()
      }
      let users = try UserServices(
        configuration,
        own: modules,
        store: store,
        hashing: hashing,
        encoding: encoding,
        time: time
      )
      services.users = users
      let path = configuration.data
      services.writeMetrics = { [readers = store.readers] page in
        page.add(
          StoreSize(ofStoreAt: path),
          waiting: [
            ("hash", hashing.waiting), ("encode", encoding.waiting), ("zone", zones.waiting), ("read", readers.waiting),
          ]
        )
      }
      services.screens = ScreenServices(
        accounts: users.accounts,
        passwordRules: configuration.accounts.passwordRules,
        states: users.userStates,
        upstream: upstream ?? LocalProfileUpstream(),
        dates: SystemDateTexts(TimeZones(workers: zones))
      )
      return services
    } catch {
      store.close()
      throw error
    }
  }
}
