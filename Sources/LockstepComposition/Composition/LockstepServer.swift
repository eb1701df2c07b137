import LockstepAccounts
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepMaintenance
import LockstepSQLiteStore
import LockstepStore
import LockstepThreading

/// A running server with all its parts. `lockstep serve` and the tests use it.
public final class LockstepServer: Sendable {
  /// The server warns of a shorter administrator token, because an attacker could guess it.
  private static let administratorTokenLength = 16

  private let server: Server
  /// Serves the operator's commands on a socket beside the store; nil if there is no such socket.
  private let operatorServer: Server?
  let services: Services
  let components: Components
  private let tasks = TaskScope()
  private let drainTime: Duration
  private let drainBegin = LockedState<ContinuousClock.Instant?>(nil)
  let backups: BackupScheduler?
  private let shutdownLimit: ShutdownLimit

  /// Starts to listen and to serve. `join()` shuts the services down. Throws, for example if the
  /// address is in use.
  ///
  /// `services` is evaluated after the server has begun to listen. So if the port is in use, no new
  /// store is created.
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
    let logger = environment.logger(configuration)
    engine.cannotAccept = { logger.log(.warning, "connections have to wait", ["error": .string("\($0)")]) }
    let budget = DescriptorBudget(
      limit: environment.descriptorLimit,
      connections: configuration.limits.connections,
      loops: engine.loops,
      isFleet: configuration.store != nil
    )
    engine.refusals = budget.refusals
    engine.descriptors = budget.openConnections
    let server = try Server(engine, time: environment.time)
    self.server = server
    drainTime = configuration.limits.drainTime
    let services = try makeServices()
    self.services = services
    shutdownLimit = ShutdownLimit(drainTime: configuration.limits.drainTime, services)
    var isStarted = false
    let time = environment.time
    // The store is locked now, so a socket that is there is a killed server's.
    let operatorServer = services.users.storage.operatorSocket.flatMap {
      Self.listenToOperator(at: $0, configuration.limits.drainTime, time, logger)
    }
    self.operatorServer = operatorServer
    // Gives up the lease if the start fails. Otherwise, the other nodes would report a node that has lost its lease.
    defer {
      if !isStarted {
        operatorServer?.drain()
        operatorServer?.join()
        services.shutDown()
      }
    }
    try services.users.accounts.stored.notePasswordRules()
    let backups = try configuration.backups.folder.map {
      try BackupScheduler(
        configuration.backups,
        folder: $0,
        store: configuration.data,
        identity: services.users.storage.id,
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
      serverCount: server.count,
      address: "http://\(server.address)",
      forwardedRequests: budget.forwardedRequests,
      backups: backups
    )
    budget.warn(logger)
    Self.warn(of: configuration, logger)
    Self.warn(ofClosed: services.users.states.declared.current, logger)
    let (users, feed) = (services.users, services.users.storage.feed)
    let health = HealthLog(logger) { [weak feed] in feed?.recentStandstill }
    let logHealth: @Sendable (DatabaseWriter.HealthChange) -> Void = { health.note($0) }
    users.storage.writer.onHealthChange(logHealth)
    users.storage.store.readers.onHealthChange(monotonic: time.monotonic, logHealth)
    feed?.onHealthChange(logHealth)
    feed?.onNotice { logger.log($0) }
    if let application = components.operatorApplication {
      try operatorServer?.start(noteRefusal: { application.note($0) }, responderOfLoop: { _ in application.respond })
    }
    let applications = components.applications
    try server.start(
      noteRefusal: { applications[$0.loop].note($0) },
      outputOwner: { head, peer in
        if let user = users.user(of: head) { return "\(user)" }
        return ClientNetwork(host: applications[0].client(of: head, from: peer).host).description
      },
      responderOfLoop: { applications[$0].respond }
    )
    let clock = environment.clock
    if let identities = users.accounts.identities {
      identities.log(to: logger)
      try tasks.start { await identities.fetchKeys() }
    }
    users.delivery.logMail(to: logger, configuration.mail)
    try tasks.start { await users.delivery.worker.run(by: clock, logger: logger) }
    try tasks.start { await users.states.historySweep.run(by: clock) }
    if let backups { try tasks.start { await backups.run(by: clock) } }
    logger.log(
      .info,
      "listening",
      [
        "address": .string(address.description), "data": .string(services.storeName),
        "threads": .integer(Int64(engine.loops)), "version": .string(lockstepVersion),
      ]
    )
    isStarted = true
  }

  /// Listens on a socket for the operator's commands. Its connections have places of their own, so an operator gets in
  /// when clients have taken all others. Nil if the socket cannot be made.
  private static func listenToOperator(
    at path: String,
    _ drainTime: Duration,
    _ time: TimeSource,
    _ logger: Logger
  ) -> Server? {
    var engine = Server.Configuration()
    engine.socketPath = path
    engine.limits = .forOperator
    engine.limits.drainTime = drainTime
    engine.refusals = engine.limits.connections
    engine.recentRequestBytes = 0
    do throws(SystemError) {
      return try Server(engine, time: time)
    } catch {
      logger.log(
        .warning,
        "commands such as lockstep user cannot reach this server, because it cannot make their socket: stop the server "
          + "before such a command, or put the store into a folder in which sockets can be made",
        ["error": .string("\(error)")]
      )
      return nil
    }
  }

  /// Warns of declared collections whose change has begun and was cut short, because they refuse writes.
  private static func warn(ofClosed modules: ModuleSet, _ logger: Logger) {
    for module in modules.declared.values where module.isClosing {
      logger.log(
        .warning,
        "a change of a declared collection was cut short, and the collection refuses writes: repeat the command or the "
          + "request that made the change",
        ["collection": .string(module.declaration.name)]
      )
    }
  }

  /// Warns of settings that are not safe, or have no effect.
  private static func warn(of configuration: Configuration, _ logger: Logger) {
    if let token = configuration.administratorToken, token.utf8.count < administratorTokenLength {
      logger.log(
        .warning,
        "the administrator token is short: use 32 random characters, for example the output of openssl rand -hex 16"
      )
    }
    if configuration.store == nil, configuration.nodeAddress != nil {
      logger.log(.warning, "--node-address has no effect, because the store is a file: set --store for a fleet")
    }
    if configuration.inspector, configuration.administratorToken?.isEmpty != false {
      logger.log(
        .warning,
        "the inspector is off, because there is no administrator token: set LOCKSTEP_ADMIN_TOKEN"
      )
    }
    if configuration.store == nil, StorePath.isOpenToOthers(configuration.data) {
      logger.log(
        .warning,
        "other users of this machine can read the store: stop the server and chmod 600 the file and those beside it",
        ["file": .string(configuration.data)]
      )
    }
  }

  /// The address that the server listens on.
  public var address: PeerAddress { server.address }

  /// Makes the server read the clock again. Tests call it after they have moved their clock.
  func lookAtClock() {
    server.lookAtClock()
    operatorServer?.lookAtClock()
    components.forwarder?.client.lookAtClock()
  }

  /// Begins to shut down, and returns at once. The server accepts no more connections, responds to
  /// waiting requests and finishes running ones.
  public func drain() {
    drainBegin.withLock { $0 = .now }
    components.readiness.beginDraining()
    shutdownLimit.begin()
    // Before `server.drain()`, so that accepted requests do not wait for their user's share.
    services.users.liftShares()
    services.users.delivery.worker.drain()
    components.logger.log(.info, "draining", ["connections": .integer(Int64(server.count(.open)))])
    server.drain()
    operatorServer?.drain()
  }

  /// Returns when the server has stopped after `drain()`. Call this once.
  public func join() {
    server.join()
    operatorServer?.join()
    components.forwarder?.client.shutDown()
    finishScreenWrites()
    components.screens.shutDown()
    backups?.shutDown()
    services.users.delivery.mail.queue.stop()
    services.users.delivery.worker.stop()
    flushSessions()
    tasks.shutDown()
    services.shutDown()
    shutdownLimit.end()
    components.logger.log(.info, "stopped")
  }

  /// Lets the writes of screens finish in the rest of the drain time. Writes that still wait for their turn
  /// after that are not made, because their screens end.
  private func finishScreenWrites() {
    guard let begin = drainBegin.withLock({ $0 }) else { return }
    services.users.screens.finishWrites(atMost: max(.zero, drainTime - begin.duration(to: .now)))
  }

  /// Writes the last use and the last cursor of each session to the store, if only memory has them.
  private func flushSessions() {
    let directory = services.users.accounts.stored.directory
    let (logger, isOver) = (components.logger, LockedState(false))
    let flush = { @Sendable in
      do { try await directory.flush() } catch {
        logger.log(.warning, "could not write the last use of the sessions", ["error": .string("\(error)")])
      }
      isOver.withLock { $0 = true }
      isOver.wakeAll()
    }
    do { try tasks.start(flush) } catch { return }
    isOver.wait { $0 ? () : nil }
  }
}
