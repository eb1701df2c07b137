import LockstepComposition
import LockstepMaintenance

enum MigrateCommand {
  struct Settings: StoreSettings {
    var data = Configuration().data
    var store: String?
  }

  static let syntax = CommandSyntax<Settings>(
    name: "migrate",
    summary: "Prepare a new store, or migrate a store to this version's schema.",
    about: """
      Apply the migrations that a store lacks, as a server does at its start, and print their names. If the
      database is empty or the file does not exist, the command prepares a new store. All migrations are
      applied in one transaction: if one fails, the store stays as it was.
      """,
    notes: """
      Run the command before the first server of a new version starts, so that the start does not have to
      wait. In PostgreSQL, only one process at a time migrates, and servers may run meanwhile. A store in a
      file must not be in use.
      """,
    options: [.data, .store],
    exclusive: [storeOptionNames]
  )

  static func entry(_ modules: [UserModule]) -> CommandEntry {
    CommandEntry(syntax) { settings in
      let outcome = try StoreMigration(of: settings.location, modules: modules).run()
      let count = outcome.applied.count
      let work = count == 0 ? "nothing to do" : "applied \(Terminal.count(count, "migration"))"
      return Terminal.print(
        "\(outcome.name): \(work); the schema is \(outcome.schema)\n" + outcome.applied.map { "  \($0)\n" }.joined()
      )
    }
  }
}
