import Lockstep

/// One setting of `lockstep serve`: its name on the command line and in the environment, its help, and what it sets.
struct Option: Sendable {
  /// A value that can't be taken: says what it may be.
  struct ValueError: Error {
    let reason: String
  }

  /// How `--help` groups the options.
  enum Group: String, CaseIterable {
    case server = "Serving"
    case accounts = "Accounts"
    case storage = "What users may keep"
    case waiting = "Waiting for changes"
    case limits = "Limits"
    case log = "Log"
  }

  /// The name with its dashes: `--port`.
  let name: String
  /// What stands for the value in the help, or nil for a switch, which needs none.
  let placeholder: String?
  let group: Group
  /// What it does, its default and its consequence.
  let help: String
  /// Whether the value is told to nobody, not even in an error.
  var isSecret = false
  /// Sets it. A switch gets `true` where no value was given.
  let apply: @Sendable (inout Configuration, String) throws(ValueError) -> Void

  /// The variable that sets it too: `LOCKSTEP_PORT`.
  var variable: String {
    "LOCKSTEP_" + name.dropFirst(2).uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }
}
