import Glibc

/// A command in the list of all commands, whatever the type of its settings.
struct CommandEntry: Sendable {
  let name: String
  let summary: String
  let help: @Sendable () -> String
  let options: [OptionSyntax]
  let operands: [OptionSyntax]
  /// Runs the command with the arguments after its name.
  let run: @Sendable ([String]) -> ExitCode

  /// A command that parses its arguments and variables and passes the settings to `body`.
  ///
  /// An error that `body` throws goes to standard error after the command's name, and decides the exit code.
  init<Settings>(_ syntax: CommandSyntax<Settings>, _ body: @escaping @Sendable (Settings) throws -> ExitCode) {
    name = syntax.name
    summary = syntax.summary
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
