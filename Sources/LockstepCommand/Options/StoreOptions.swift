import Lockstep
import LockstepMaintenance
import LockstepTime

/// Settings of a command that works on a store.
protocol StoreSettings: CommandSettings {
  /// The store's file.
  var data: String { get set }
}

extension Configuration: StoreSettings {}

extension CommandOption where Settings: StoreSettings {
  /// The store's file. The server reads the same variable, so in the server's container the command
  /// finds the server's store.
  static var data: CommandOption { CommandOption("--data", \.data, .text("<file>")).help("The store's file.") }
}

extension CommandOption {
  /// A file that must be chosen on each run.
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
