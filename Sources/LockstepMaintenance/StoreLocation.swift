import Glibc
import LockstepStore

/// Where a store is.
package enum StoreLocation: Sendable, Equatable {
  /// The path of a SQLite file.
  case file(String)
  /// The connection string of a PostgreSQL database. It may contain a password.
  case database(String)

  /// Whether there is a store: false if the file does not exist or the database is empty.
  package func hasStore() throws -> Bool {
    do {
      try expectCurrentSchema()
      return true
    } catch let error as MaintenanceError {
      switch error {
      case .missing, .emptyDatabase: return false
      default: throw error
      }
    }
  }

  /// Throws if there is no store, or if its schema is not the one that this program writes.
  package func expectCurrentSchema() throws { try ReadableStore(self).read { _ in } }

  /// The user that owns the file; nil for a database.
  package var owner: uid_t? {
    guard case .file(let path) = self else { return nil }
    var status = stat()
    return stat(path, &status) == 0 ? status.st_uid : nil
  }
}

extension StoreDatabase {
  /// Connects to a store for a command. Throws if the schema is not the one that this program writes.
  package convenience init(
    withCurrentSchema connectionString: String,
    patience: Duration = .seconds(30),
    migrator: Migrator = Migrator()
  ) throws {
    try self.init(connectionString, patience: patience, migrator: migrator)
    guard schema > 0 else { throw MaintenanceError.emptyDatabase(name: name) }
    guard schema == knownSchema else {
      throw MaintenanceError.olderSchema(path: name, found: schema, known: knownSchema)
    }
  }
}

/// A store that a command reads, at one moment for each read, even while a server uses it.
enum ReadableStore: Sendable {
  case file(path: String, Migrator)
  case database(StoreDatabase)

  init(_ location: StoreLocation, _ migrator: Migrator = Migrator()) throws {
    switch location {
    case .file(let path): self = .file(path: path, migrator)
    case .database(let string): self = .database(try StoreDatabase(withCurrentSchema: string, migrator: migrator))
    }
  }

  /// The store in messages.
  var name: String {
    switch self {
    case .file(let path, _): path
    case .database(let database): database.name
    }
  }

  /// Needs the current schema.
  func read<Result>(_ body: (StoreConnection) throws -> Result) throws -> Result {
    switch self {
    case .file(let path, let migrator):
      let connection = try StorePath.openForReading(path)
      return try connection.snapshot {
        try migrator.expectCurrentSchema(of: connection, path: path)
        return try body(.sqlite(connection))
      }
    case .database(let database): return try database.read(body)
    }
  }
}
