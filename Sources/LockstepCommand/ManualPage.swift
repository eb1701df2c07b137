import LockstepComposition
import LockstepHTTP

/// The manual page `lockstep(1)` in the macros of man(7), which groff and mandoc format.
struct ManualPage {
  private(set) var text = ""

  init(of commands: [CommandEntry], date: Timestamp) {
    text = ".TH LOCKSTEP 1 \(date.description.prefix(10)) \"lockstep \(lockstepVersion)\" \"Lockstep\"\n"
    section("NAME")
    line("lockstep \\- a state server for apps")
    section("SYNOPSIS")
    let usages = commands.map(\.usage) + ["lockstep --help", "lockstep --version"]
    line(usages.map { ".B \(roff($0))" }.joined(separator: "\n.br\n"))
    section("DESCRIPTION")
    prose(Help.about)
    macro(".PP")
    prose("After a command, the option --help prints the command's part of this page.")
    section("COMMANDS")
    for command in commands { describe(command) }
    section("ENVIRONMENT")
    prose("An argument overrides the variable of the same option. An empty variable counts as not set.")
    variables(of: commands)
    section("FILES")
    item("./lockstep.db", "The store, unless --data, --store or their variables name another one.")
    item("./lockstep.db-wal, ./lockstep.db-shm", "Parts of the store while a process uses it.")
    section("EXIT STATUS")
    for code in ExitCode.allCases { item("\(code.rawValue)", code.meaning) }
  }

  private mutating func describe(_ command: CommandEntry) {
    line(".SS \"\(roff(command.usage))\"")
    prose(command.about)
    if !command.notes.isEmpty {
      macro(".PP")
      prose(command.notes)
    }
    let groups = OptionGroup.allCases.filter { group in command.options.contains { $0.group == group } }
    for group in groups {
      // A command with one group needs no heading.
      if groups.count > 1 { line(".PP\n\(roff(group.rawValue)):") }
      for option in command.options where option.group == group {
        line(".TP\n.B \(roff([option.name, option.placeholder].compactMap { $0 }.joined(separator: " ")))")
        prose(option.help)
      }
    }
  }

  /// Lists each variable once, with the option and the commands that read it.
  private mutating func variables(of commands: [CommandEntry]) {
    var readers: [String: (option: String, commands: [String])] = [:]
    for command in commands {
      for option in command.options where option.hasVariable {
        readers[option.variable, default: (option.name, [])].commands.append(command.name)
      }
    }
    for (name, reader) in readers.sorted(by: { $0.key < $1.key }) {
      item(name, "Sets \(reader.option) of: \(reader.commands.joined(separator: ", ")).")
    }
  }

  private mutating func section(_ title: String) { line(".SH \(title.contains(" ") ? "\"\(title)\"" : title)") }

  private mutating func item(_ term: String, _ description: String) {
    line(".TP\n.B \(roff(term))")
    prose(description)
  }

  /// Fills the lines of paragraphs, which are between empty lines. Keeps the breaks of lines with
  /// an indentation or a column.
  private mutating func prose(_ text: String) {
    var (isLiteral, isFirst) = (false, true)
    for row in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let literal = row.contains("  ")
      if literal != isLiteral, !(row.isEmpty && isLiteral) {
        macro(literal ? ".PP\n.nf" : ".fi")
        isLiteral = literal
      }
      if row.isEmpty {
        if !isFirst, !isLiteral { macro(".PP") }
      } else {
        line(protected(roff(String(row))))
      }
      isFirst = false
    }
    if isLiteral { macro(".fi") }
  }

  private mutating func line(_ text: String) { self.text += "\(text)\n" }

  /// A line without text. A paragraph that is empty gets none.
  private mutating func macro(_ name: String) {
    if text.hasSuffix("\n.PP\n") { text.removeLast(".PP\n".count) }
    line(name)
  }

  /// A line of text that begins with a dot or an apostrophe would be a macro.
  private func protected(_ text: String) -> String { text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : text }

  /// Escapes backslashes, hyphens, which would become other characters, and characters outside
  /// ASCII.
  private func roff(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\(rs"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "\"": result += "\\(dq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
      default: result += "\\[u\(String(scalar.value, radix: 16, uppercase: true).padded(to: 4))]"
      }
    }
    return result
  }
}

extension String {
  fileprivate func padded(to length: Int) -> String { String(repeating: "0", count: max(0, length - count)) + self }
}
