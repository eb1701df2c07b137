import Lockstep

/// Makes settings of arguments and variables. Arguments win over variables, variables over defaults.
enum OptionParser {
  /// What is wrong with the command line, in a sentence.
  struct UsageError: Error, Equatable {
    let message: String
  }

  static func configuration(
    arguments: [String],
    environment: [String: String]
  ) throws(UsageError) -> Configuration {
    let configuration = try settings(
      Configuration(),
      of: ServeCommand.form,
      arguments: arguments,
      environment: environment
    )
    guard configuration.limits.bodyMemory >= configuration.limits.body else {
      throw UsageError(
        message: "--max-body-memory (\(OptionValue.text(size: configuration.limits.bodyMemory))) can't be less than "
          + "--max-body (\(OptionValue.text(size: configuration.limits.body))): the largest body would never fit."
      )
    }
    return configuration
  }

  /// What arguments and variables make of a command's defaults.
  static func settings<Settings>(
    _ defaults: Settings,
    of form: CommandSyntax<Settings>,
    arguments: [String],
    environment: [String: String]
  ) throws(UsageError) -> Settings {
    var settings = defaults
    for option in form.options where option.hasVariable {
      // Empty stands for unset: compose files pass on variables that nobody gave a value.
      guard let value = environment[option.variable], !value.isEmpty else { continue }
      try apply(option, value, called: option.variable, to: &settings)
    }
    var rest = arguments[...]
    var operands = form.operands[...]
    while let argument = rest.popFirst() {
      if !argument.hasPrefix("-"), let operand = operands.popFirst() {
        try apply(argument, as: operand, to: &settings)
        continue
      }
      let (name, inlineValue) = split(argument)
      guard let option = form.options.first(where: { $0.name == name }) else {
        throw UsageError(message: unknown(name))
      }
      let value = if let inlineValue { inlineValue } else { try followingValue(of: option, in: &rest) }
      try apply(option, value, called: name, to: &settings)
    }
    if let missing = operands.first {
      throw UsageError(message: "\(missing.placeholder) is missing: \(form.usage).")
    }
    return settings
  }

  private static func apply<Settings>(
    _ option: CommandOption<Settings>,
    _ value: String,
    called name: String,
    to settings: inout Settings
  ) throws(UsageError) {
    do {
      try option.apply(&settings, value)
    } catch {
      let given = option.isSecret ? "what was given" : "“\(value)”"
      throw UsageError(message: "\(name) can't be \(given): \(error.reason).")
    }
  }

  private static func apply<Settings>(
    _ value: String,
    as operand: CommandSyntax<Settings>.Operand,
    to settings: inout Settings
  ) throws(UsageError) {
    do {
      try operand.apply(&settings, value)
    } catch {
      throw UsageError(message: "\(operand.placeholder) can't be “\(value)”: \(error.reason).")
    }
  }

  /// A word that looks like an option is none's value: `--data --access-log` would make a file of that name. Who does
  /// mean it writes `--data=--access-log`.
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

  private static func unknown(_ name: String) -> String {
    name.hasPrefix("-") ? "there is no option \(name)." : "“\(name)” is one word too many; options begin with --."
  }
}
