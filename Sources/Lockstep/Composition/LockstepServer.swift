import LockstepHTTP
import LockstepHTTPServer
import LockstepJSON
import LockstepLogging
import LockstepMaintenance
import LockstepThreading
import LockstepTime

/// The whole product, serving: what the command runs and what tests run too.
public final class LockstepServer: Sendable {
  /// How long an administrator's token should be: nobody counts who tries one.
  private static let administratorTokenLength = 16

  private let server: Server
  let services: Services
  let components: Components
  /// What is done while nobody asks for anything.
  private let tasks = TaskScope()
  /// Nil where no backups are to be made.
  let backups: BackupScheduler?

  /// Listens and serves, with these services, which it ends when it has stopped. Throws when it can't listen.
  ///
  /// The services are made only when it listens: who gives a port that is taken must not find a new store.
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

  /// Where it listens.
  public var address: PeerAddress { server.address }

  /// Has the server look at the time again: for whoever hands in a clock that is moved by hand.
  func lookAtClock() { server.lookAtClock() }

  /// Begins to stop: no new connections, who waits is answered, running requests finish. Returns at once.
  public func drain() {
    components.readiness.beginDraining()
    // Before those who wait for anything are told not to: what they asked for is still to be done.
    services.users?.liftShares()
    components.logger.log(.info, "draining", ["connections": .integer(Int64(server.counters.open))])
    server.drain()
  }

  /// Returns when it has stopped after `drain()`. To be called once.
  public func join() {
    server.join()
    components.screens?.shutDown()
    backups?.shutDown()
    flushSessions()
    tasks.shutDown()
    services.shutDown()
    components.logger.log(.info, "stopped")
  }

  /// Writes what only memory knows of sessions: when they were used last, and from which cursor.
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
