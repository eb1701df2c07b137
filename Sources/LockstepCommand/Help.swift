/// The texts of `--help`, made from the tables that the parser uses.
enum Help {
  /// That of the whole command.
  static let command = overview(
    """
    Lockstep keeps an app's state in lockstep on all of a user's devices: a state server over plain HTTP.

    Usage: lockstep <command>


    """,
    Command.all(),
    and: [("--help", "This text; behind a command, what that one takes."), ("--version", "The version.")]
  )

  static var serve: String { text(of: ServeCommand.form) }

  /// That of several commands which share their first word.
  static func group(_ name: String) -> String {
    overview(
      "Usage: lockstep \(name) <command>\n\n",
      Command.all().filter { $0.name.hasPrefix("\(name) ") },
      and: []
    )
  }

  /// That of one command.
  static func text<Settings>(of form: CommandSyntax<Settings>) -> String {
    var text = "\(form.about)\n\nUsage: \(form.usage)\n"
    if !form.notes.isEmpty { text += "\n\(form.notes)\n" }
    for group in OptionGroup.allCases {
      let options = form.options.filter { $0.group == group }
      if options.isEmpty { continue }
      text += "\n\(group.rawValue):\n"
      for option in options { text += entry(option) }
    }
    return text
  }

  private static func overview(
    _ head: String,
    _ commands: [CommandEntry],
    and others: [(name: String, summary: String)]
  ) -> String {
    let rows = commands.map { ($0.name, $0.summary) } + others
    let width = rows.reduce(0) { max($0, $1.0.count) } + 3
    return head
      + rows.map { name, summary in
        "  \(name)\(String(repeating: " ", count: width - name.count))\(summary)\n"
      }
      .joined()
  }

  private static func entry<Settings>(_ option: CommandOption<Settings>) -> String {
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
