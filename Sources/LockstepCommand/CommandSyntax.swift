/// How a command is called: the parser, the variables, the help and the completions are made of it.
struct CommandSyntax<Settings: Sendable>: Sendable {
  /// A word that belongs to no option, such as a user's address.
  struct Operand: Sendable {
    /// What stands for it in the help: `<address>`.
    let placeholder: String
    /// Sets it.
    let apply: @Sendable (inout Settings, String) throws(OptionValueError) -> Void
  }

  /// The words that call it: `serve`, `user add`.
  let name: String
  /// What it does, in a line among those of the others.
  let summary: String
  /// What it does, as its own help says it; lines of at most 120 characters.
  let about: String
  /// What is said behind the usage; empty where there is nothing more to say.
  var notes = ""
  /// The words that it needs, in their order.
  var operands: [Operand] = []
  let options: [CommandOption<Settings>]

  /// The first line of what it takes: `lockstep user add <address> [options]`.
  var usage: String {
    (["lockstep", name] + operands.map(\.placeholder) + (options.isEmpty ? [] : ["[options]"])).joined(separator: " ")
  }
}
