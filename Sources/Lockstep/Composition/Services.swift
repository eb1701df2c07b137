import LockstepCollections
import LockstepHTTPServer
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepThreading
import LockstepTime

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
  /// The services for screens; `nil` if the server has no users.
  var screens: ScreenServices?
  /// Writes the metrics of the store's files and pools; nil without a store.
  var writeMetrics: (@Sendable (inout MetricsPage) -> Void)?
  /// Shuts all services down after their last use. Blocks until they have finished their work.
  public var shutDown: @Sendable () -> Void

  /// Creates services from their parts.
  public init(store: any StoreHealth, shutDown: @escaping @Sendable () -> Void = {}) {
    self.store = store
    self.shutDown = shutDown
  }

  /// The number of encoder threads.
  static let encodingThreads = 2

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
      // Two hashes run at a time, and a few wait. So a burst of logins slows down logins and
      // nothing else.
      let hashing = try WorkerPool(name: "hash", threads: 2, capacity: 64)
      let encoding = try WorkerPool(name: "encode", threads: encodingThreads, capacity: 4_096)
      // Each zone is read once, and its file is nearly always in the system's cache.
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
        maximumPasswordBytes: configuration.accounts.passwordRules.maximumBytes,
        states: users.userStates,
        upstream: upstream ?? LocalProfileUpstream(),
        dates: TimeZones(workers: zones)
      )
      return services
    } catch {
      store.close()
      throw error
    }
  }
}
