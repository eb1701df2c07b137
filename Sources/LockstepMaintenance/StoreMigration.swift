import LockstepCollections
import LockstepStore
import LockstepTime

/// Migrates the schema of a store, as a server does at its start. Prepares a new store.
package struct StoreMigration: Sendable {
  package struct Outcome: Sendable, Equatable {
    /// The store in messages.
    package let name: String
    /// The names of the migrations that were missing.
    package let applied: [String]
    package let schema: Int
  }

  private let store: StoreLocation
  private let time: TimeSource
  private let migrator: Migrator

  package init(of store: StoreLocation, time: TimeSource = .system, modules: [UserModule] = []) {
    (self.store, self.time) = (store, time)
    migrator = Migrator(modules: modules)
  }

  /// Migrates on this thread. Throws if the store cannot be migrated; then it stays as it was.
  package func run() throws -> Outcome {
    switch store {
    case .file(let path):
      let before = StorePath.isFile(path) && fileSize(path) > 0 ? try applied(path) : []
      try DurableStore(path: path, time: time, migrator: migrator).close()
      let after = try applied(path)
      return Outcome(name: path, applied: after.filter { !before.contains($0) }, schema: migrator.last)
    case .database(let string):
      let database = try StoreDatabase(string, migrator: migrator)
      let applied = try database.migrate(at: time.millisecondsSince1970())
      return Outcome(name: database.name, applied: applied, schema: database.knownSchema)
    }
  }

  private func applied(_ path: String) throws -> [String] {
    try migrator.applied(in: StorePath.openForReading(path))
  }
}
