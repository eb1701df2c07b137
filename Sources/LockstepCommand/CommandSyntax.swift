/// The syntax of a command. The parser, the variables, the help and the completions are made from
/// it.
struct CommandSyntax<Settings: CommandSettings>: Sendable {
  /// The words that call it: `serve`, `user add`.
  let name: String
  /// One line for the list of all commands.
  let summary: String
  /// The beginning of the command's own help; lines of at most 100 characters.
  let about: String
  /// The text after the usage.
  var notes = ""
  /// The arguments that are not options, in order.
  var operands: [CommandOption<Settings>] = []
  let options: [CommandOption<Settings>]
  /// A sentence if the settings contradict each other.
  var fault: @Sendable (Settings) -> String? = { _ in nil }

  /// The first line of the help: `lockstep user add <address> [options]`.
  var usage: String {
    (["lockstep", name] + operands.map(\.name) + (options.isEmpty ? [] : ["[options]"])).joined(separator: " ")
  }
}
