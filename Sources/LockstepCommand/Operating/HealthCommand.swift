import LockstepHTTPServer
import Lockstep

/// `lockstep health`: asks a server whether it's ready. For a container's health check: nothing but a socket is opened, and
/// no thread is started.
enum HealthCommand {
  struct Settings {
    var host = Configuration().host
    var port = Configuration().port
    var timeout = Duration.seconds(3)
  }

  static let form = CommandSyntax<Settings>(
    name: "health",
    summary: "Ask a server whether it's ready: exit 0 or 1.",
    about: """
      Ask a running server's /readyz whether it can be sent requests: its store can be written, and it isn't about to stop.
      """,
    notes: """
      Prints one line, and ends with 0 when the server is ready, with 1 when it isn't or doesn't answer in time. Without
      options it asks where a server with the same variables listens.
      """,
    options: [
      CommandOption(
        name: "--url",
        placeholder: "<URL>",
        group: .general,
        help: "The server, such as http://127.0.0.1:8080; only http. It stands for --host and --port.",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        (settings.host, settings.port) = try place(ofURL: value)
      },
      CommandOption(
        name: "--host",
        placeholder: "<address>",
        group: .general,
        help: "The name or address to ask; also the variable LOCKSTEP_HOST. Default \(Settings().host)."
      ) { settings, value throws(OptionValueError) in
        guard !value.isEmpty else { throw OptionValueError(reason: "it is empty") }
        settings.host = value
      },
      CommandOption(
        name: "--port",
        placeholder: "<number>",
        group: .general,
        help: "The port to ask; also the variable LOCKSTEP_PORT. Default \(Settings().port)."
      ) { settings, value throws(OptionValueError) in
        settings.port = try OptionValue.integer(value, in: 1...65_535)
      },
      CommandOption(
        name: "--timeout",
        placeholder: "<time>",
        group: .general,
        help: "How long the answer may take. Default \(OptionValue.text(time: Settings().timeout)).",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        settings.timeout = try OptionValue.time(value)
      },
    ]
  )

  static let entry = CommandEntry(form, Settings()) { settings in
    let answer: BlockingHTTPClient.Response
    do {
      answer = try BlockingHTTPClient.get(
        "/readyz",
        host: settings.host,
        port: settings.port,
        within: settings.timeout,
        monotonic: TimeSource.system.monotonic
      )
    } catch let error as SystemError {
      throw CommandError(.no, "\(error).")
    }
    guard answer.status == 200 else {
      // Whoever listens there may be somebody else's server.
      throw CommandError(
        .no,
        "the server isn't ready: it answers \(answer.status). \(Terminal.harmless(answer.body))"
      )
    }
    return Terminal.print("ready\n")
  }

  /// The host and port of `http://host[:port][/]`.
  private static func place(ofURL text: String) throws(OptionValueError) -> (host: String, port: Int) {
    let wrong = OptionValueError(reason: "it must be http:// and a host, such as http://127.0.0.1:8080, without a path")
    guard text.lowercased().hasPrefix("http://") else { throw wrong }
    var authority = text.dropFirst("http://".count)
    if authority.last == "/" { authority.removeLast() }
    guard !authority.contains(where: { "/?#@".contains($0) }) else { throw wrong }
    var port: Substring = "80"
    // The colons of an IPv6 address are inside brackets.
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      port = authority[authority.index(after: colon)...]
      authority = authority[..<colon]
    }
    if authority.first == "[", authority.last == "]" { authority = authority.dropFirst().dropLast() }
    guard !authority.isEmpty else { throw wrong }
    return (String(authority), try OptionValue.integer(String(port), in: 1...65_535))
  }
}
