/// A command as the list of all has it, whatever its settings are.
struct CommandEntry: Sendable {
  /// What the completions know of an option.
  struct OptionShape: Sendable {
    let name: String
    /// Nil for a switch.
    let placeholder: String?
    let help: String
  }

  let name: String
  let summary: String
  let help: @Sendable () -> String
  let options: [OptionShape]
  /// What stands for the words that belong to no option.
  let operands: [String]
  /// Runs it to its end with what comes behind its name.
  let run: @Sendable ([String]) -> ExitCode

  /// A command of a form: `body` is given what was asked for, by variables too, and does it.
  ///
  /// Whatever `body` throws is told on standard error behind the command's name, and ends it with the code that belongs to
  /// it.
  init<Settings>(
    _ form: CommandSyntax<Settings>,
    _ defaults: Settings,
    _ body: @escaping @Sendable (Settings) throws -> ExitCode
  ) {
    self.init(form) { arguments in
      try body(
        OptionParser.settings(
          defaults,
          of: form,
          arguments: arguments,
          environment: ProcessVariables.of(form)
        )
      )
    }
  }

  /// A command that reads its arguments by itself.
  init<Settings>(_ form: CommandSyntax<Settings>, _ body: @escaping @Sendable ([String]) throws -> ExitCode) {
    name = form.name
    summary = form.summary
    help = { Help.text(of: form) }
    options = form.options.map { OptionShape(name: $0.name, placeholder: $0.placeholder, help: $0.help) }
    operands = form.operands.map(\.placeholder)
    run = { arguments in
      if arguments.contains("--help") || arguments.contains("-h") { return Terminal.print(Help.text(of: form)) }
      do {
        return try body(arguments)
      } catch let error as OptionParser.UsageError {
        Terminal.error("lockstep \(form.name): \(error.message) `lockstep \(form.name) --help` lists the options.\n")
        return .usage
      } catch {
        Terminal.error("lockstep \(form.name): \(error)\n")
        return ExitCode(for: error)
      }
    }
  }
}
