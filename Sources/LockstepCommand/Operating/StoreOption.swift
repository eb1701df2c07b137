import Lockstep
import LockstepMaintenance
import LockstepTime

/// Settings of a command that works on a store.
protocol StoreSettings: Sendable {
  /// The store's file.
  var data: String { get set }
}

extension Configuration: StoreSettings {}

extension CommandOption where Settings: StoreSettings {
  /// Which store: as for the server, so that in a container, or with its variables, it's the server's own.
  static var data: CommandOption {
    CommandOption(
      name: "--data",
      placeholder: "<file>",
      group: .general,
      help: "The store; also the variable LOCKSTEP_DATA. Default \(Configuration().data)."
    ) { settings, value throws(OptionValueError) in
      guard !value.isEmpty else { throw OptionValueError(reason: "it is empty") }
      settings.data = value
    }
  }
}

extension CommandOption where Settings == Configuration {
  /// The same option of a command whose settings hold a configuration.
  func within<Other>(_ path: WritableKeyPath<Other, Configuration> & Sendable) -> CommandOption<Other> {
    let apply = apply
    return CommandOption<Other>(
      name: name,
      placeholder: placeholder,
      group: .general,
      help: help,
      isSecret: isSecret,
      hasVariable: hasVariable
    ) { settings, value throws(OptionValueError) in
      try apply(&settings[keyPath: path], value)
    }
  }
}

extension CommandOption {
  /// A file that is named anew each time.
  static func file(
    _ name: String,
    _ help: String,
    _ path: WritableKeyPath<Settings, String?> & Sendable
  ) -> CommandOption {
    CommandOption(name: name, placeholder: "<file>", group: .general, help: help, hasVariable: false) {
      settings,
      value throws(OptionValueError) in
      guard !value.isEmpty else { throw OptionValueError(reason: "it is empty") }
      settings[keyPath: path] = value
    }
  }

  /// A switch that is said anew each time.
  static func flag(
    _ name: String,
    _ help: String,
    _ path: WritableKeyPath<Settings, Bool> & Sendable
  ) -> CommandOption {
    CommandOption(name: name, placeholder: nil, group: .general, help: help, hasVariable: false) {
      settings,
      value throws(OptionValueError) in
      settings[keyPath: path] = try OptionValue.boolean(value)
    }
  }
}

extension CopyThrottle {
  /// A pace of the system's time, for a command, that is ended by a signal and not by its pauses.
  static func ofCommand(bytesPerSecond: Int?) -> CopyThrottle {
    CopyThrottle(bytesPerSecond: bytesPerSecond, elapsed: TimeSource.system.elapsed) { Sleep.thread(for: $0) }
  }
}
