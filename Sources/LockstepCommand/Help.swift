/// The texts of `--help`, made from the tables that the parser uses.
enum Help {
  static let command = """
    Lockstep keeps an app's state in lockstep on all of a user's devices: a state server over plain HTTP.

    Usage: lockstep <command>

      serve       Serve. `lockstep serve --help` lists the options.
      --help      This text.
      --version   The version.

    """

  static var serve: String {
    var text = """
      Serve until SIGTERM or SIGINT, which drain: no new connections, who waits is answered, running requests finish.
      A second signal ends at once.

      Usage: lockstep serve [options]

      Each option is also a variable, --log-level for example LOCKSTEP_LOG_LEVEL. The command line wins. Once it serves,
      one line with the address goes to standard output; the log goes to standard error.

      """
    for group in Option.Group.allCases {
      text += "\n\(group.rawValue):\n"
      for option in ServeOptions.all where option.group == group { text += entry(option) }
    }
    return text
  }

  private static func entry(_ option: Option) -> String {
    let head = [option.name, option.placeholder].compactMap { $0 }.joined(separator: " ")
    return "  \(head)\n" + wrapped(option.help).map { "      \($0)\n" }.joined()
  }

  private static func wrapped(_ text: String) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let line = lines[lines.count - 1]
      if !line.isEmpty, line.count + word.count >= 90 {
        lines.append(String(word))
      } else {
        lines[lines.count - 1] = line.isEmpty ? String(word) : "\(line) \(word)"
      }
    }
    return lines
  }
}
