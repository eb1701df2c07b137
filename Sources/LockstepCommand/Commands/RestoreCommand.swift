import LockstepComposition
import LockstepMaintenance

enum RestoreCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var store: String?
    var from: String?
    var force = false
    var endSessions = false
  }

  static let syntax = CommandSyntax<Settings>(
    name: "restore",
    summary: "Replace a store with a backup.",
    about: """
      Replace a store with a backup while no server uses the store. The command first copies and checks
      the backup. It refuses a backup that is damaged or is not a Lockstep store. Then the store stays as
      it was. The restored store gets a new identity, so that every client loads its state again.
      """,
    options: [
      .data, .storeRefused, .file("--from", \.from, "The backup's file. The command does not change it. Required."),
      .flag("--force", \.force, "Replace an existing store. Its contents are lost."),
      .flag(
        "--end-sessions",
        \.endSessions,
        "End all sessions, so that all users must log in again, and delete all service tokens. Without this option, "
          + "devices that logged out after the backup was made are logged in again, and service tokens that were "
          + "deleted after it are valid again."
      ),
    ],
    exclusive: [storeOptionNames],
    fault: { $0.store.map { _ in storeFault } }
  )

  private static let storeFault =
    "this command replaces a file. Restore a store in PostgreSQL with its own tools, such as pg_restore or a base "
    + "backup."

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(syntax) { settings in
      guard let backup = settings.from else {
        throw OptionParser.UsageError(message: "--from is missing: --from <file>.")
      }
      var bar = ProgressBar("restore")
      defer { bar.clear() }
      let summary = try StoreRestore(to: settings.data, modules: modules)
        .restore(from: backup, overwriting: settings.force, endingSessions: settings.endSessions) {
          bar.show($0.copiedBytes, of: $0.bytes)
        }
      bar.clear()
      return Terminal.print(
        "\(settings.data): \(Terminal.size(summary.bytes)), \(Terminal.count(summary.users, "user")), from \(backup); "
          + "clients with earlier cursors get a reset\n"
      )
    }
  }
}
