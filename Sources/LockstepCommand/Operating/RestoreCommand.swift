import Lockstep
import LockstepCollections
import LockstepMaintenance

/// `lockstep restore`: a backup in the place of a store.
enum RestoreCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var from: String?
    var force = false
    var endSessions = false
  }

  static let form = CommandSyntax<Settings>(
    name: "restore",
    summary: "Put a backup in the place of a store.",
    about: """
      Put a backup in the place of a store that no server uses. The backup is copied and looked at first, whole; what isn't
      whole, or no store that this lockstep knows, is refused, and the store stays as it was. The store gets a new identity:
      every client starts over once, instead of missing what was lost.
      """,
    options: [
      .data,
      .file("--from", "The backup. Needed; it's left as it is.", \.from),
      .flag("--force", "Replace a store that is there already. What is in it is lost.", \.force),
      .flag(
        "--end-sessions",
        "Have everybody log in again. Otherwise devices that were logged out after the backup was made are logged in again.",
        \.endSessions
      ),
    ]
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(form, Settings()) { try restore($0, modules) }
  }

  private static func restore(_ settings: Settings, _ modules: [UserModule]) throws -> ExitCode {
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
      "\(settings.data): \(Terminal.size(summary.bytes)), \(Terminal.count(summary.users, "user")), of \(backup); cursors from before start over\n"
    )
  }
}
