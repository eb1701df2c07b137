import Lockstep
import LockstepMaintenance

/// `lockstep backup`: a copy of a store, while a server serves on it.
enum BackupCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var to: String?
    var rate: Int? = 64 * 1024 * 1024
    var force = false
  }

  static let form = CommandSyntax<Settings>(
    name: "backup",
    summary: "Copy a store, while it's served.",
    about: """
      Copy a store as it is at one moment, while a server serves on it and writes go on. The copy is one file, for its
      owner only; it has its name once all of it is on disk and SQLite has found every page of it whole. It holds what the
      store holds: password hashes and sessions too. Keep it as safe.
      """,
    options: [
      .data,
      .file("--to", "Where the copy goes. Needed.", \.to),
      CommandOption(
        name: "--rate",
        placeholder: "<size>",
        group: .general,
        help: "How much may be copied in a second, so that the server's own writes don't wait for the disk; 0 takes no "
          + "care. Default 64MiB.",
        hasVariable: false
      ) { settings, value throws(OptionValueError) in
        let rate = try OptionValue.size(value, in: 0...1_099_511_627_776)
        settings.rate = rate == 0 ? nil : rate
      },
      .flag("--force", "Replace a file that is there already, once the copy is whole.", \.force),
    ]
  )

  static let entry = CommandEntry(form, Settings()) { settings in
    guard let path = settings.to else { throw OptionParser.UsageError(message: "--to is missing: --to <file>.") }
    if path == "-" { throw OptionParser.UsageError(message: "--to - isn't possible: a backup is a file.") }
    let backup = StoreBackup(of: settings.data, pace: .ofCommand(bytesPerSecond: settings.rate))
    var bar = ProgressBar("backup")
    defer { bar.clear() }
    let bytes = try backup.write(to: path, overwriting: settings.force) { bar.show($0.copiedBytes, of: $0.bytes) }
    bar.clear()
    return Terminal.print("\(path): \(Terminal.size(bytes)), a whole copy of \(settings.data)\n")
  }
}
