/// The texts of `--help`, made from the tables that the parser uses.
enum Help {
  static let about =
    "Lockstep is a state server: it keeps an app's state the same on all of a user's devices, over plain HTTP."

  static let command =
    "\(about)\n\nUsage: lockstep <command>\n\n"
    + table(
      Command.all().map { ($0.name, $0.summary) } + [
        ("--help", "Print this text. After a command: print its help."), ("--version", "Print the version."),
      ]
    )

  /// The help of the commands that share their first word.
  static func group(_ name: String) -> String {
    let commands = Command.all().filter { $0.name.hasPrefix("\(name) ") }
    return "Usage: lockstep \(name) <command>\n\n" + table(commands.map { ($0.name, $0.summary) })
  }

  static func text<Settings>(of syntax: CommandSyntax<Settings>) -> String {
    var text = "\(syntax.about)\n\nUsage: \(syntax.usage)\n"
    if !syntax.notes.isEmpty { text += "\n\(syntax.notes)\n" }
    for group in OptionGroup.allCases {
      let options = syntax.options.map(\.syntax).filter { $0.group == group }
      if options.isEmpty { continue }
      text += "\n\(group.rawValue):\n"
      for option in options {
        text += "  \([option.name, option.placeholder].compactMap { $0 }.joined(separator: " "))\n"
        // The notes of `serve` already describe the variables of all its options.
        let variable =
          option.hasVariable && syntax.name != ServeCommand.syntax.name ? " Or set \(option.variable)." : ""
        text += wrapped(option.help + variable).map { "      \($0)\n" }.joined()
      }
    }
    return text
  }

  private static func table(_ rows: [(name: String, summary: String)]) -> String {
    let width = rows.reduce(0) { max($0, $1.name.count) } + 3
    return rows.map { "  \($0)\(String(repeating: " ", count: width - $0.count))\($1)\n" }.joined()
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
