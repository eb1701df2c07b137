import Glibc
import LockstepComposition
import LockstepHTTPServer
import LockstepLogging

/// `lockstep serve`: runs a server until a signal.
enum ServeCommand {
  static let syntax = CommandSyntax<Configuration>(
    name: "serve",
    summary: "Run the server.",
    about: """
      Run the server until SIGTERM or SIGINT. Then it shuts down: it accepts no more connections, ends
      long polls and finishes running requests. A second signal ends the server at once.
      """,
    notes: """
      Each option also has an environment variable: LOCKSTEP_LOG_LEVEL sets --log-level. If both are
      given, the command line overrides the variable. LOCKSTEP_STORE and --data cannot be combined.
      When the server is ready, it prints one line with its address to standard output. The log goes to
      standard error. A signal before that ends the server at once, with exit code 0.
      """,
    options: ServeOptions.all,
    exclusive: [["--data", "--store"]],
    // The operator of a fleet who forgot --data would start a server without the fleet's users.
    conflicts: ["--data": "LOCKSTEP_STORE"],
    fault: { configuration in
      if configuration.store != nil, configuration.backups.folder != nil {
        return
          "--backup-dir makes backups of a file. Use the tools of PostgreSQL for --store: pg_dump or pg_basebackup."
      }
      if let fault = MailOptions.fault(configuration.mail) { return fault }
      let (memory, body) = (configuration.limits.bodyMemory, configuration.limits.body)
      guard memory < body else { return nil }
      return "--max-body-memory (\(sizeText(memory))) cannot be less than --max-body "
        + "(\(sizeText(body))): the largest body would never fit."
    }
  )

  static func entry(_ modules: [UserModule], _ screens: [ScreenDeclaration]) -> CommandEntry {
    CommandEntry(syntax) { configuration in
      do {
        return try serve(configuration, modules, screens)
      } catch let error as StoreError where configuration.store == nil {
        // Another start cannot succeed, as with the commands.
        switch error {
        case .newerSchema, .ownTables: throw error
        default: break
        }
        // Supervisors see the same exit code for all other errors of the store.
        throw CommandError(.store, "\(error)")
      }
    }
  }

  /// With fewer descriptors, the server could not read the store.
  private static let leastDescriptors = 40

  private static func serve(
    _ configuration: Configuration,
    _ modules: [UserModule],
    _ screens: [ScreenDeclaration]
  ) throws -> ExitCode {
    try ProcessLimits.expectThreads(for: configuration)
    let descriptorLimit = ProcessLimits.raiseDescriptorLimit()
    guard descriptorLimit >= leastDescriptors else {
      throw CommandError(
        .unavailable,
        "the limit on open files is \(descriptorLimit), and the server needs at least \(leastDescriptors): raise it with "
          + "ulimit -n, LimitNOFILE= of systemd, or --ulimit nofile= of docker"
      )
    }
    // Blocks the signals before other threads start, because each thread inherits the blocked
    // signals. One thread waits for the signals.
    let signals = ShutdownSignals()
    let time = TimeSource.system
    let log = try LogWriter(descriptor: STDERR_FILENO, format: configuration.logFormat, now: time.now)
    defer { log.close() }
    var environment = Environment(time: time, writeLog: log.write, droppedLogLines: { log.dropped })
    environment.descriptorLimit = descriptorLimit
    let logger = environment.logger(configuration)
    try signals.endStart {
      logger.log(.info, "stopped before the server was ready")
      log.close()
    }
    let server = try LockstepServer(
      configuration,
      environment: environment,
      services: Services.durable(configuration, modules: modules, screens: screens, time: time) { error in
        logger.log(.warning, "waiting for the database", ["error": .string("\(error)")])
      }
    )
    signals.onFirst { server.drain() }
    _ = Terminal.print("lockstep: listening on http://\(server.address)\n")
    server.join()
    return .success
  }
}
