import Glibc
import Lockstep
import LockstepCollections
import LockstepHTTPServer
import LockstepLogging
import LockstepStore
import LockstepTime

/// `lockstep serve`: from the options to a server that runs until a signal.
enum ServeCommand {
  static let form = CommandSyntax(
    name: "serve",
    summary: "Serve.",
    about: """
      Serve until SIGTERM or SIGINT, which drain: no new connections, who waits is answered, running requests finish.
      A second signal ends at once.
      """,
    notes: """
      Each option is also a variable, --log-level for example LOCKSTEP_LOG_LEVEL. The command line wins. Once it serves,
      one line with the address goes to standard output; the log goes to standard error.
      """,
    options: ServeOptions.all
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(form) { arguments in
      let environment = ProcessVariables.of(form)
      do {
        return try serve(OptionParser.configuration(arguments: arguments, environment: environment), modules)
      } catch let error as StoreError {
        // One code for all that is wrong with the store, as supervisors know it.
        throw CommandError(.store, "\(error)")
      }
    }
  }

  private static func serve(_ configuration: Configuration, _ modules: [UserModule]) throws -> ExitCode {
    try ProcessLimits.expectThreads(for: configuration)
    let descriptorLimit = ProcessLimits.raiseDescriptorLimit()
    // Before any thread exists, so that all inherit it and only the one that waits gets a signal.
    let signals = StopSignals()
    let time = TimeSource.system
    let log = try LogWriter(descriptor: STDERR_FILENO, format: configuration.logFormat) {
      Timestamp(millisecondsSince1970: time.millisecondsSince1970())
    }
    defer { log.close() }
    var environment = Environment(time: time, writeLog: log.write, droppedLogLines: { log.dropped })
    environment.descriptorLimit = descriptorLimit
    let server = try LockstepServer(
      configuration,
      environment: environment,
      services: Services.durable(configuration, modules: modules, time: time)
    )
    try signals.onFirst { server.drain() }
    _ = Terminal.print("lockstep: listening on http://\(server.address)\n")
    server.join()
    return .success
  }
}
