import LockstepComposition
import LockstepMaintenance
import LockstepHTTPServer

/// `lockstep health`. Containers run it often, so it opens only a socket and starts no thread.
enum HealthCommand {
  struct Settings: CommandSettings {
    var address = Address(host: Configuration().host, port: Configuration().port)
    var timeout = Duration.seconds(3)
    var store: String?
  }

  struct Address: Sendable {
    var host: String
    var port: Int
  }

  static let syntax = CommandSyntax<Settings>(
    name: "health",
    summary: "Ask a server whether it is ready. Exits with code 0 or 1.",
    about: """
      Ask a running server, at /readyz, whether it is ready for requests. It is ready if it can write
      to its store and is not shutting down.
      """,
    notes: """
      Prints one line. Exits with code 0 if the server is ready, and with code 1 if it is not ready or
      does not respond. Without options, the command asks the server at LOCKSTEP_HOST and LOCKSTEP_PORT.
      With --store, it asks the database instead: code 0 means that the database has a store of this
      version's schema and that at least one server uses it.
      """,
    options: [
      CommandOption("--url", \.address, .serverURL, hasVariable: false)
        .help(
          "The server's URL, for example http://127.0.0.1:8080. It must begin with http://, not https://. Use this option "
            + "instead of --host and --port."
        ),
      CommandOption("--host", \.address.host, .text("<address>"))
        .help("The server's name or address."),
      CommandOption("--port", \.address.port, .integer(1...65_535))
        .help("The server's port."),
      CommandOption("--timeout", \.timeout, .time(), hasVariable: false)
        .help("How long to wait for the response."),
      CommandOption("--store", \.store, .text("<connection>"), isSecret: true, hasVariable: false)
        .help("The PostgreSQL database of a store, to ask it instead of a server."),
    ],
    exclusive: ["--url", "--host", "--port"].map { [$0, "--store"] }
  )

  static let entry = CommandEntry(syntax) { settings in
    if let store = settings.store { return try ask(store, within: settings.timeout) }
    let response: BlockingHTTPClient.Response
    do {
      response = try BlockingHTTPClient.get(
        "/readyz",
        host: settings.address.host,
        port: settings.address.port,
        within: settings.timeout,
        monotonic: TimeSource.system.monotonic
      )
    } catch let error as SystemError {
      throw CommandError(.no, "\(error).")
    }
    guard response.status == 200 else {
      // Another program may listen at this address and send any text.
      throw CommandError(
        .no,
        "the server is not ready: its response is \(response.status). \(Terminal.harmless(response.body))"
      )
    }
    return Terminal.print("ready\n")
  }

  /// Asks the database of a store.
  private static func ask(_ connectionString: String, within timeout: Duration) throws -> ExitCode {
    do {
      let database = try StoreDatabase(withCurrentSchema: connectionString, patience: timeout)
      guard try database.read({ try $0.isServed() }) else {
        throw CommandError(.no, "no server uses the database \(database.name).")
      }
      return Terminal.print("ready\n")
    } catch  where ExitCode(for: error) != .usage {
      throw CommandError(.no, "\(error)")
    }
  }
}

extension OptionFormat where Value == HealthCommand.Address {
  /// `http://host[:port][/]`
  fileprivate static let serverURL = OptionFormat(placeholder: "<URL>") { text throws(OptionValueError) in
    let error = OptionValueError(reason: "it must be http:// and a host, such as http://127.0.0.1:8080, without a path")
    guard text.lowercased().hasPrefix("http://") else { throw error }
    var authority = text.dropFirst("http://".count)
    if authority.last == "/" { authority.removeLast() }
    guard !authority.contains(where: { "/?#@".contains($0) }) else { throw error }
    var port: Substring = "80"
    // The colons of an IPv6 address are inside brackets.
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      port = authority[authority.index(after: colon)...]
      authority = authority[..<colon]
    }
    if authority.first == "[", authority.last == "]" { authority = authority.dropFirst().dropLast() }
    guard !authority.isEmpty else { throw error }
    return HealthCommand.Address(
      host: String(authority),
      port: try OptionFormat<Int>.integer(1...65_535).read(String(port))
    )
  }
}
