/// Makes settings from arguments and variables. Arguments override variables, and variables
/// override defaults.
enum OptionParser {
  struct UsageError: Error, Equatable {
    let message: String
  }

  /// The settings for these arguments. `variable` returns the value of an environment variable.
  static func settings<Settings>(
    of syntax: CommandSyntax<Settings>,
    arguments: [String],
    variable: (String) -> String?
  ) throws(UsageError) -> Settings {
    var settings = Settings()
    let given = Set(arguments.map { split($0).name })
    try expectNoConflict(of: syntax, arguments, given, variable)
    let excluded = Set(syntax.exclusive.filter { $0.contains(where: given.contains) }.joined())
    for option in syntax.options where option.hasVariable && !excluded.contains(option.name) {
      // An empty variable counts as unset, because compose files pass on variables without a value.
      guard let value = variable(option.variable), !value.isEmpty else { continue }
      try apply(option, value, name: option.variable, to: &settings)
    }
    var rest = arguments[...]
    var operands = syntax.operands[...]
    while let argument = rest.popFirst() {
      // A hyphen alone stands for standard input.
      if argument == "-" || !argument.hasPrefix("-"), let operand = operands.popFirst() {
        try apply(operand, argument, name: operand.name, to: &settings)
        continue
      }
      let (name, inlineValue) = split(argument)
      guard let option = syntax.options.first(where: { $0.name == name }) else {
        throw UsageError(
          message: name.hasPrefix("-")
            ? "there is no option \(name)." : "unexpected argument “\(name)”; options begin with --."
        )
      }
      let value = if let inlineValue { inlineValue } else { try followingValue(of: option, in: &rest) }
      try apply(option, value, name: name, to: &settings)
    }
    if let missing = operands.first { throw UsageError(message: "\(missing.name) is missing: \(syntax.usage).") }
    if let fault = syntax.fault(settings) { throw UsageError(message: fault) }
    return settings
  }

  private static func expectNoConflict<Settings>(
    of syntax: CommandSyntax<Settings>,
    _ arguments: [String],
    _ given: Set<String>,
    _ variable: (String) -> String?
  ) throws(UsageError) {
    for names in syntax.exclusive where names.count(where: given.contains) > 1 {
      throw UsageError(message: "\(names.joined(separator: " and ")) cannot be combined.")
    }
    for name in Set(syntax.exclusive.joined()).sorted() where arguments.count(where: { split($0).name == name }) > 1 {
      throw UsageError(message: "\(name) can be given only once.")
    }
    for (option, other) in syntax.conflicts where given.contains(option) && variable(other)?.isEmpty == false {
      throw UsageError(message: "\(option) and the variable \(other) cannot be combined. Remove one of them.")
    }
  }

  private static func apply<Settings>(
    _ option: CommandOption<Settings>,
    _ value: String,
    name: String,
    to settings: inout Settings
  ) throws(UsageError) {
    do {
      try option.apply(&settings, value)
    } catch {
      let given = option.isSecret ? "the given value" : "“\(value)”"
      throw UsageError(message: "\(name) cannot be \(given): \(error.reason).")
    }
  }

  /// A word that begins with `--` is not a value. Otherwise `--data --access-log` would create a
  /// file of that name. An operator who wants such a value writes `--data=--access-log`.
  private static func followingValue<Settings>(
    of option: CommandOption<Settings>,
    in rest: inout ArraySlice<String>
  ) throws(UsageError) -> String {
    guard let placeholder = option.placeholder else { return "true" }
    guard let value = rest.first, !value.hasPrefix("--") else {
      throw UsageError(message: "\(option.name) needs a value: \(option.name) \(placeholder).")
    }
    rest.removeFirst()
    return value
  }

  private static func split(_ argument: String) -> (name: String, value: String?) {
    guard argument.hasPrefix("--"), let sign = argument.firstIndex(of: "=") else { return (argument, nil) }
    return (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
  }
}
