import LockstepCollections
import LockstepHTTPServer
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepThreading
import LockstepTime

/// What a server needs of its store to know whether it can do its work.
public protocol StoreHealth: Sendable {
  /// Returns when something has just been written and is on disk, or throws why that can't be.
  func checkWritable() async throws
}

extension DurableStore: StoreHealth {}

/// The services of a server: the real ones, or whatever a test puts in their place.
public struct Services: Sendable {
  /// The store's health.
  public var store: any StoreHealth
  /// What belongs to users; nil where only the service itself is served.
  var users: UserServices?
  /// What screens work with; nil where there are no users.
  var screens: ScreenServices?
  /// Writes the metrics of the store's files and pools; nil without a store.
  var writeMetrics: (@Sendable (inout MetricsPage) -> Void)?
  /// Ends them all, when nobody uses them any more. Blocks until what they do is done.
  public var shutDown: @Sendable () -> Void

  /// Services of their parts.
  public init(store: any StoreHealth, shutDown: @escaping @Sendable () -> Void = {}) {
    self.store = store
    self.shutDown = shutDown
  }

  /// How many threads make what takes long.
  static let encodingThreads = 2

  /// The real ones, on the store that the configuration names.
  ///
  /// - Parameters:
  ///   - configuration: The configuration.
  ///   - modules: What is kept for users besides favorites, defaults and profiles.
  ///   - time: The clocks.
  /// - Returns: The services, to be shut down.
  /// - Throws: `InvalidModuleError` where a module can't be served, `StoreError` where the store can't be opened.
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
      // Two hashes at a time, and a few waiting: a storm of logins slows logins and nothing else.
      let hashing = try WorkerPool(name: "hash", threads: 2, capacity: 64)
      let encoding = try WorkerPool(name: "encode", threads: encodingThreads, capacity: 4_096)
      // Zones are read once each, and from a disk that nearly always has them in memory.
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
        dates: SystemDateTexts(TimeZones(workers: zones))
      )
      return services
    } catch {
      store.close()
      throw error
    }
  }
}
