import Lockstep

/// One setting of a command: its name on the command line and, where it has one, in the environment, its help, and what it
/// sets.
struct CommandOption<Settings>: Sendable {
  typealias ValueError = OptionValueError
  typealias Group = OptionGroup

  /// The name with its dashes: `--port`.
  let name: String
  /// What stands for the value in the help, or nil for a switch, which needs none. Choices are separated by bars.
  let placeholder: String?
  let group: Group
  /// What it does, its default and its consequence.
  let help: String
  /// Whether the value is told to nobody, not even in an error.
  var isSecret = false
  /// Whether a variable sets it too: not what is said anew each time, such as what to overwrite.
  var hasVariable = true
  /// Sets it. A switch gets `true` where no value was given.
  let apply: @Sendable (inout Settings, String) throws(ValueError) -> Void

  /// The variable that sets it too: `LOCKSTEP_PORT`.
  var variable: String {
    "LOCKSTEP_" + name.dropFirst(2).uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }
}

/// One setting of `lockstep serve`.
typealias Option = CommandOption<Configuration>

/// A value that can't be taken: says what it may be.
struct OptionValueError: Error {
  let reason: String
}

/// How `--help` groups the options.
enum OptionGroup: String, CaseIterable {
  case general = "Options"
  case server = "Serving"
  case accounts = "Accounts"
  case storage = "What users may keep"
  case waiting = "Waiting for changes"
  case limits = "Limits"
  case backups = "Backups"
  case log = "Log"
}
