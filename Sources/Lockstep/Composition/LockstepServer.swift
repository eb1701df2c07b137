import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging
import LockstepMaintenance
import LockstepThreading
import LockstepTime

/// A running server. `lockstep serve` and the tests run one.
public final class LockstepServer: Sendable {
  /// The least length of an administrator token. Attempts to guess it are not limited.
  private static let administratorTokenLength = 16

  private let server: Server
  let services: Services
  let components: Components
  /// Background work.
  private let tasks = TaskScope()
  /// Nil without scheduled backups.
  let backups: BackupScheduler?

  /// Starts a server with these services, which it shuts down at the end. Throws if it cannot listen.
  ///
  /// The services are made after the server listens, so that no store is created if the port is taken.
  public init(
    _ configuration: Configuration,
    environment: Environment,
    services makeServices: @autoclosure () throws -> Services
  ) throws {
    var engine = Server.Configuration()
    engine.host = configuration.host
    engine.port = configuration.port
    engine.loops = configuration.threads ?? ProcessLimits.cores
    engine.limits = configuration.limits
    let cors = CORSPolicy(origins: configuration.corsOrigins)
    engine.refusalFields = { cors.fields(forOrigin: $0) }
    let logger = Logger(configuration, environment: environment)
    engine.cannotAccept = { logger.log(.warning, "connections have to wait", ["error": .string("\($0)")]) }
    let budget = DescriptorBudget(
      limit: environment.descriptorLimit,
      connections: configuration.limits.connections,
      loops: engine.loops
    )
    engine.refusals = budget.refusals
    let server = try Server(engine, time: environment.time)
    self.server = server
    let services = try makeServices()
    self.services = services
    let time = environment.time
    let backups = try configuration.backups.folder.map {
      try BackupScheduler(
        configuration.backups,
        folder: $0,
        store: configuration.data,
        identity: services.users?.store ?? "none",
        time: time,
        logger: logger
      )
    }
    self.backups = backups
    components = try Components(
      configuration,
      logger: logger,
      environment: environment,
      services: services,
      loops: engine.loops,
      serverCounters: { server.counters },
      backups: backups
    )
    budget.warn(logger)
    if let token = configuration.administratorToken, token.utf8.count < Self.administratorTokenLength {
      logger.log(
        .warning,
        "the administrator's token is short: take 32 random characters, such as openssl rand -hex 16 prints"
      )
    }
    if services.users != nil, StorePath.isOpenToOthers(configuration.data) {
      logger.log(
        .warning,
        "the store can be read by others than its owner: stop the server and chmod 600 the file and those beside it",
        ["file": .string(configuration.data)]
      )
    }
    services.users?.writer.onHealthChange { logger.log($0) }
    services.users?.readers.readers.onHealthChange(monotonic: time.monotonic) { logger.log($0) }
    let applications = components.applications
    try server.start(
      noteRefusal: { applications[$0.loop].note($0) },
      responderOfLoop: { applications[$0].respond }
    )
    let clock = environment.clock
    if let commands = services.users?.adminCommands(time, logger: logger) {
      try tasks.start { await commands.run(by: clock) }
    }
    if let backups { try tasks.start { await backups.run(by: clock) } }
    components.logger.log(
      .info,
      "listening",
      [
        "address": .string(address.description), "data": .string(configuration.data),
        "threads": .integer(Int64(engine.loops)), "version": .string(lockstepVersion),
      ]
    )
  }

  /// The address on which it listens.
  public var address: PeerAddress { server.address }

  /// Makes the server read its clock again. For tests with a manual clock.
  func lookAtClock() { server.lookAtClock() }

  /// Begins to shut down: accepts no connections, ends waits, and finishes running requests. Returns at once.
  public func drain() {
    components.readiness.beginDraining()
    // Before waits end, because accepted work must still be done.
    services.users?.liftShares()
    components.logger.log(.info, "draining", ["connections": .integer(Int64(server.counters.open))])
    server.drain()
  }

  /// Returns when the server has stopped after `drain()`. Call it once.
  public func join() {
    server.join()
    components.screens?.shutDown()
    backups?.shutDown()
    flushSessions()
    tasks.shutDown()
    services.shutDown()
    components.logger.log(.info, "stopped")
  }

  /// Writes the use of sessions that is only in memory: times and cursors.
  private func flushSessions() {
    guard let directory = services.users?.accounts.directory else { return }
    let (logger, isOver) = (components.logger, LockedState(false))
    let flush = { @Sendable in
      do { try await directory.flush() } catch {
        logger.log(.warning, "when sessions were used last couldn't be written", ["error": .string("\(error)")])
      }
      isOver.withLock { $0 = true }
      isOver.wakeAll()
    }
    do { try tasks.start(flush) } catch { return }
    isOver.wait { $0 ? () : nil }
  }
}
