/// The syntax of a command. The command's parser, variables, help, manual page and
/// completions are made from it.
struct CommandSyntax<Settings: CommandSettings>: Sendable {
  let name: String
  let summary: String
  /// The beginning of the command's help, in lines of at most 100 characters.
  let about: String
  /// The text of the help after the usage.
  var notes = ""
  /// The arguments that are not options, in order.
  var operands: [CommandOption<Settings>] = []
  let options: [CommandOption<Settings>]
  /// The names of options that exclude each other. Each can be given once. An argument also overrides the
  /// variables of the options that it excludes.
  var exclusive: [[String]] = []
  /// For some of these options, the variable that must not be set beside the argument.
  var conflicts: [String: String] = [:]
  /// Returns a sentence if the settings contradict each other, otherwise nil.
  var fault: @Sendable (Settings) -> String? = { _ in nil }

  /// The first line of the help: `lockstep user add <address> [options]`.
  var usage: String {
    (["lockstep", name] + operands.map(\.name) + (options.isEmpty ? [] : ["[options]"])).joined(separator: " ")
  }
}

/// A command in the list of all commands, whatever the type of its settings.
struct CommandEntry: Sendable {
  let name: String
  let summary: String
  let usage: String
  let about: String
  let notes: String
  let help: @Sendable () -> String
  let options: [OptionSyntax]
  let operands: [OptionSyntax]
  let run: @Sendable ([String]) -> ExitCode

  /// A command that parses its arguments and variables and passes the settings to `body`.
  ///
  /// An error that `body` throws is written to standard error after the command's name. It
  /// determines the exit code.
  init<Settings>(_ syntax: CommandSyntax<Settings>, _ body: @escaping @Sendable (Settings) throws -> ExitCode) {
    name = syntax.name
    summary = syntax.summary
    usage = syntax.usage
    about = syntax.about
    notes = syntax.notes
    help = { Help.text(of: syntax) }
    options = syntax.options.map(\.syntax)
    operands = syntax.operands.map(\.syntax)
    run = { arguments in
      if arguments.contains("--help") || arguments.contains("-h") { return Terminal.print(Help.text(of: syntax)) }
      do {
        return try body(OptionParser.settings(of: syntax, arguments: arguments, variable: Terminal.variable))
      } catch let error as OptionParser.UsageError {
        Terminal.error(
          "lockstep \(syntax.name): \(error.message) `lockstep \(syntax.name) --help` lists the options.\n"
        )
        return .usage
      } catch {
        Terminal.error("lockstep \(syntax.name): \(error)\n")
        return ExitCode(for: error)
      }
    }
  }
}
