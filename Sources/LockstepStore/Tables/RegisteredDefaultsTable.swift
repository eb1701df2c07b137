import LockstepCollections
import LockstepTime

package struct RegisteredDefaultsTable: Sendable {
  package init() {}

  /// The registered defaults with their history.
  package func load(from connection: StoreConnection) throws -> RegisteredDefaults {
    var registered = RegisteredDefaults()
    try connection.forEach("SELECT suite, key, value, revision FROM registered_defaults ORDER BY revision") { row in
      let value: String? = try row[2]
      registered.apply(try row[1], in: try row[0], value: value.map { Array($0.utf8) }, revision: try row[3])
    }
    return registered
  }

  /// Locks the registered defaults until the end of the transaction. Returns the latest ones: those in
  /// memory, or those that another server has written.
  package func lock(_ known: RegisteredDefaults, in connection: StoreConnection) throws -> RegisteredDefaults {
    guard case .postgreSQL = connection else { return known }
    try connection.lock(Array("registered defaults".utf8))
    return try lastRevision(in: connection) == known.revision ? known : try load(from: connection)
  }

  /// The revision of the latest registered defaults.
  package func lastRevision(in connection: StoreConnection) throws -> Revision {
    try connection.first("SELECT coalesce(max(revision), 0) FROM registered_defaults") { try $0[0] as Revision }
      ?? .none
  }

  /// Writes the value that a key has from this revision on. `nil` removes the registered value.
  package func write(
    _ key: String,
    in suite: String,
    value: [UInt8]?,
    revision: Revision,
    at now: Timestamp,
    to connection: StoreConnection
  ) throws {
    try connection.run(
      "INSERT INTO registered_defaults (suite, key, revision, value, at) VALUES (?, ?, ?, ?, ?)",
      suite,
      key,
      revision,
      value.map { String(decoding: $0, as: UTF8.self) },
      now
    )
    connection.announce { $0.topics.insert(.registeredDefaults) }
  }
}
