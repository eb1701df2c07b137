import Glibc
import HTTPServer
import Lockstep

/// `lockstep serve`: from the options to a server that runs until a signal.
enum ServeCommand {
  static func run(_ arguments: [String], _ modules: [UserModule]) -> ExitCode {
    if arguments.contains("--help") || arguments.contains("-h") { return Terminal.print(Help.serve) }
    do {
      return try serve(OptionParser.configuration(arguments: arguments, environment: environment()), modules)
    } catch let error as OptionParser.UsageError {
      Terminal.error("lockstep serve: \(error.message) `lockstep serve --help` lists the options.\n")
      return .usage
    } catch let error as InvalidModule {
      Terminal.error("lockstep serve: \(error)\n")
      return .program
    } catch let error as StoreError {
      Terminal.error("lockstep serve: \(error)\n")
      return .store
    } catch {
      Terminal.error("lockstep serve: \(error)\n")
      return .unavailable
    }
  }

  private static func serve(_ configuration: Configuration, _ modules: [UserModule]) throws -> ExitCode {
    let descriptorLimit = ProcessLimits.raiseDescriptorLimit()
    // Before any thread exists, so that all inherit it and only the one that waits gets a signal.
    let signals = StopSignals()
    let time = ServerTime.system
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

  private static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    for option in ServeOptions.all {
      if let value = getenv(option.variable) { variables[option.variable] = String(cString: value) }
    }
    return variables
  }
}
