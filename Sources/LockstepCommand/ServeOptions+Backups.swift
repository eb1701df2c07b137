import Lockstep

/// The options about backups that the server makes by itself.
extension ServeOptions {
  static let backups: [Option] = [
    Option(
      name: "--backup-dir",
      placeholder: "<folder>",
      group: .backups,
      help:
        "Where copies of the store are made while it serves, named by their time; the folder is made where it isn't "
        + "there. One that can't be made is logged and counted, and tried again; serving goes on. Default: none are made."
    ) { configuration, value throws(Option.ValueError) in
      guard !value.isEmpty else { throw Option.ValueError(reason: "it is empty") }
      configuration.backups.folder = value
    },
    Option(
      name: "--backup-every",
      placeholder: "<time>",
      group: .backups,
      help: "How long after one the next is made, 60s or more; a restart doesn't begin anew. "
        + "Default \(OptionValue.text(time: defaults.backups.every))."
    ) { configuration, value throws(Option.ValueError) in
      configuration.backups.every = try OptionValue.time(value, from: .seconds(60))
    },
    Option(
      name: "--backup-keep",
      placeholder: "<number>",
      group: .backups,
      help: "How many are kept; the oldest go, once a new one is whole. Default \(defaults.backups.keep)."
    ) { configuration, value throws(Option.ValueError) in
      configuration.backups.keep = try OptionValue.integer(value, in: 1...100_000)
    },
    Option(
      name: "--backup-rate",
      placeholder: "<size>",
      group: .backups,
      help: "How much may be copied in a second, so that users' writes don't wait for the disk; 0 takes no care. "
        + "Default \(OptionValue.text(size: defaults.backups.bytesPerSecond ?? 0))."
    ) { configuration, value throws(Option.ValueError) in
      let rate = try OptionValue.size(value, in: 0...1_099_511_627_776)
      configuration.backups.bytesPerSecond = rate == 0 ? nil : rate
    },
  ]
}
