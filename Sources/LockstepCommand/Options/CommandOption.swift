import LockstepComposition
import LockstepMaintenance

/// The settings that a command's options change. A new instance has the default settings.
protocol CommandSettings: Sendable {
  init()
}

/// How an option is written. Its variable, its help and its completions are made from this.
struct OptionSyntax: Sendable {
  /// The name with its dashes: `--port`. The name of an operand is its placeholder: `<user>`.
  let name: String
  /// The text for the value in the help; nil for a switch. Bars separate choices: `text|json`.
  let placeholder: String?
  let group: OptionGroup
  /// Whether the value is secret, so that errors must not contain it.
  let isSecret: Bool
  /// Whether a variable can also set the option. Options that must be chosen on each run, such as
  /// `--force`, have no variable.
  let hasVariable: Bool
  /// The text of the default value; nil if `help` describes the default.
  let defaultText: String?
  /// The effect of the option and its default, in sentences.
  var help = ""

  /// The variable that can also set the option: `LOCKSTEP_PORT`.
  var variable: String {
    "LOCKSTEP_" + name.dropFirst(2).uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
  }

  var choices: [String] {
    guard let placeholder, placeholder.contains("|"), !placeholder.hasPrefix("<") else { return [] }
    return placeholder.split(separator: "|").map(String.init)
  }

  var takesFile: Bool { ["<file>", "<folder>"].contains(placeholder) }
}

@dynamicMemberLookup
struct CommandOption<Settings: CommandSettings>: Sendable {
  var syntax: OptionSyntax
  /// Sets the option's value in the settings. A switch without a value gets `true`.
  let apply: @Sendable (inout Settings, String) throws(OptionValueError) -> Void

  subscript<Value>(dynamicMember path: KeyPath<OptionSyntax, Value>) -> Value { syntax[keyPath: path] }

  /// The same option with this help, which ends with the default.
  func help(_ text: String) -> CommandOption {
    var option = self
    option.syntax.help = syntax.defaultText.map { "\(text) Default \($0)." } ?? text
    return option
  }
}

extension CommandOption {
  init<Value>(
    _ name: String,
    _ path: WritableKeyPath<Settings, Value> & Sendable,
    _ format: OptionFormat<Value>,
    _ group: OptionGroup = .general,
    isSecret: Bool = false,
    hasVariable: Bool = true
  ) {
    let syntax = OptionSyntax(
      name: name,
      placeholder: format.placeholder,
      group: group,
      isSecret: isSecret,
      hasVariable: hasVariable,
      defaultText: format.text(Settings()[keyPath: path])
    )
    self.init(syntax: syntax) { settings, text throws(OptionValueError) in
      settings[keyPath: path] = try format.read(text)
    }
  }

  /// An option for an optional property.
  init<Value>(
    _ name: String,
    _ path: WritableKeyPath<Settings, Value?> & Sendable,
    _ format: OptionFormat<Value>,
    _ group: OptionGroup = .general,
    isSecret: Bool = false,
    hasVariable: Bool = true
  ) {
    let optional: OptionFormat<Value?> = format.map { $0 }
    self.init(name, path, optional, group, isSecret: isSecret, hasVariable: hasVariable)
  }

  /// The same option for settings that contain `Settings`.
  func within<Other>(_ path: WritableKeyPath<Other, Settings> & Sendable) -> CommandOption<Other> {
    CommandOption<Other>(syntax: syntax) { [apply] settings, value throws(OptionValueError) in
      try apply(&settings[keyPath: path], value)
    }
  }
}

enum OptionGroup: String, CaseIterable {
  case general = "Options"
  case server = "Server"
  case accounts = "Accounts"
  case mail = "Mail"
  case storage = "Storage"
  case waiting = "Waiting"
  case limits = "Limits"
  case backups = "Backups"
  case log = "Log"
}

protocol StoreSettings: CommandSettings {
  var data: String { get set }
  var store: String? { get set }
}

extension StoreSettings {
  /// The store that the options and variables name.
  var location: StoreLocation { store.map { .database($0) } ?? .file(data) }
}

extension Configuration: StoreSettings {}

/// The options that exclude each other, for each command of a store.
let storeOptionNames = ["--data", "--store"]

extension CommandOption where Settings: StoreSettings {
  /// The server reads the same variable. So a command in the server's container uses its store.
  static var data: CommandOption { CommandOption("--data", \.data, .text("<file>")).help("The store's file.") }

  /// The option of a command that cannot use a store in PostgreSQL. Its variable counts too, so that the
  /// command does not look for a file where the server uses a database.
  static var storeRefused: CommandOption {
    CommandOption("--store", \.store, .text("<connection>"), isSecret: true)
      .help("Refused: a store in PostgreSQL has the tools of PostgreSQL for backups.")
  }

  /// The server reads the same variable.
  static var store: CommandOption {
    CommandOption("--store", \.store, .text("<connection>"), isSecret: true)
      .help(
        "The PostgreSQL database of the store instead of a file, as for lockstep serve. Set the variable if the "
          + "connection string has a password, because every user of this machine can read arguments with ps."
      )
  }
}

extension CommandOption {
  static func file(
    _ name: String,
    _ path: WritableKeyPath<Settings, String?> & Sendable,
    _ help: String
  ) -> CommandOption {
    CommandOption(name, path, .text("<file>"), hasVariable: false).help(help)
  }

  /// A switch that must be chosen on each run.
  static func flag(
    _ name: String,
    _ path: WritableKeyPath<Settings, Bool> & Sendable,
    _ help: String
  ) -> CommandOption {
    CommandOption(name, path, .flag, hasVariable: false).help(help)
  }
}
