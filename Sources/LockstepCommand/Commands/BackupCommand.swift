import LockstepComposition
import LockstepMaintenance
import LockstepThreading

enum BackupCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var store: String?
    var to: String?
    var rate = Configuration().backups.bytesPerSecond
    var force = false
  }

  static let syntax = CommandSyntax<Settings>(
    name: "backup",
    summary: "Copy a store, even while a server uses it.",
    about: """
      Copy a store as it is at one moment, even while a server uses it and writes continue. The backup is
      one file that only its owner can read. The command writes <file>.partial, and renames it to <file>
      when all of it is on disk and SQLite has checked every page. Keep the backup as safe as the store,
      because it contains everything in the store, including password hashes and sessions.
      """,
    options: [
      .data, .storeRefused, .file("--to", \.to, "The backup's file. Required."),
      CommandOption("--rate", \.rate, .copyRate, hasVariable: false)
        .help("The most bytes to copy in a second, so that users' writes do not wait for the disk; 0 sets no limit."),
      .flag("--force", \.force, "Replace an existing file after the copy is complete."),
    ],
    exclusive: [storeOptionNames],
    fault: { $0.store.map { _ in storeFault } }
  )

  private static let storeFault =
    "this command copies a file. Back up a store in PostgreSQL with its own tools, such as pg_dump or pg_basebackup."

  static let entry = CommandEntry(syntax) { settings in
    guard let path = settings.to else { throw OptionParser.UsageError(message: "--to is missing: --to <file>.") }
    if path == "-" { throw OptionParser.UsageError(message: "--to cannot be -: a backup is a file.") }
    let throttle = CopyThrottle(
      bytesPerSecond: settings.rate,
      elapsed: TimeSource.system.elapsed,
      pause: CurrentThread.sleep
    )
    var bar = ProgressBar("backup")
    defer { bar.clear() }
    let bytes = try StoreBackup(of: settings.data, throttle: throttle).write(to: path, overwriting: settings.force) {
      bar.show($0.copiedBytes, of: $0.bytes)
    }
    bar.clear()
    return Terminal.print("\(path): \(Terminal.size(bytes)), a complete copy of \(settings.data)\n")
  }
}
