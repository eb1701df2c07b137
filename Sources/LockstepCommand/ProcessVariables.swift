import Glibc

/// The variables that this process was started with.
enum ProcessVariables {
  /// Those that set a command's options.
  static func of<Settings>(_ form: CommandSyntax<Settings>) -> [String: String] {
    var variables: [String: String] = [:]
    for option in form.options where option.hasVariable { variables[option.variable] = value(option.variable) }
    return variables
  }

  /// One of them; nil where it isn't set.
  static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
