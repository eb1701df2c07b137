import LockstepCollections
import LockstepJSON
import LockstepTime

/// A declared collection as it is stored.
package struct StoredDeclaration: Sendable {
  package let name: String
  /// The declaration as JSON.
  package let declaration: [UInt8]
  /// The change of the declared collections that made it.
  package let revision: Revision
  /// Whether its deletion has begun.
  package let isClosing: Bool

  package init(name: String, declaration: [UInt8], revision: Revision, isClosing: Bool) {
    (self.name, self.declaration, self.revision, self.isClosing) = (name, declaration, revision, isClosing)
  }
}

extension StoreConnection {
  /// Whether the schema has the table `declared_collections`.
  package func hasDeclaredCollections() throws -> Bool {
    guard case .sqlite(let connection) = self else { return true }
    let table = try connection.first("SELECT 1 FROM sqlite_schema WHERE name = 'declared_collections'") { _ in true }
    return table ?? false
  }
}

/// The table `declared_collections`.
package struct DeclaredCollectionsTable: Sendable {
  static let lockName = Array("declared collections".utf8)

  package init() {}

  /// All of the table.
  package struct Content: Sendable {
    package var declared: [StoredDeclaration] = []
    /// The names of collections that were deleted and not declared again.
    package var deleted: Set<ExactText> = []
    /// The revision of the last change.
    package var revision = Revision.none
  }

  package func load(from connection: StoreConnection) throws -> Content {
    var content = Content()
    try connection.forEach("SELECT name, declaration, revision, is_closing FROM declared_collections") { row in
      let (name, revision): (String, Revision) = (try row[0], try row[2])
      content.revision = max(content.revision, revision)
      guard let text: String = try row[1] else {
        content.deleted.insert(name.exact)
        return
      }
      let isClosing = try row[3] as Int != 0
      content.declared.append(
        StoredDeclaration(name: name, declaration: Array(text.utf8), revision: revision, isClosing: isClosing)
      )
    }
    return content
  }

  package func lastRevision(in connection: StoreConnection) throws -> Revision {
    try connection.first("SELECT coalesce(max(revision), 0) FROM declared_collections") { try $0[0] as Revision }
      ?? .none
  }

  /// Locks the declared collections until the end of the transaction.
  package func lock(in connection: StoreConnection) throws { try connection.lock(Self.lockName) }

  package func write(_ declarations: [StoredDeclaration], to connection: StoreConnection) throws {
    for stored in declarations {
      try connection.run(
        """
        INSERT INTO declared_collections (name, declaration, revision, is_closing) VALUES (?, ?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET
          declaration = excluded.declaration, revision = excluded.revision, is_closing = excluded.is_closing
        """,
        stored.name,
        String(decoding: stored.declaration, as: UTF8.self),
        stored.revision,
        stored.isClosing ? 1 : 0
      )
    }
    try finishChange(of: connection)
  }

  private func finishChange(of connection: StoreConnection) throws {
    if case .sqlite(let connection) = connection { try CollectionViews(connection: connection).update() }
    connection.announce { $0.topics.insert(.declaredCollections) }
  }

  /// Removes a declaration. Its row stays, because histories of users may have its name.
  package func remove(_ name: String, at revision: Revision, from connection: StoreConnection) throws {
    try connection.run(
      "UPDATE declared_collections SET declaration = NULL, revision = ?, is_closing = 0 WHERE name = ?",
      revision,
      name
    )
    try finishChange(of: connection)
  }

  /// Users who have elements in a collection, after a user in the order of their ids.
  package func users(
    with name: String,
    of kind: CollectionMutation.Kind,
    after user: UserID?,
    limit: Int,
    in connection: StoreConnection
  ) throws -> [UserID] {
    try users(kind == .list ? Self.usersOfList : Self.usersOfMap, name, after: user, limit, connection)
  }

  /// Users with a record of the last removal in a collection, after a user in the order of their
  /// ids.
  package func users(
    withRecordOf name: String,
    after user: UserID?,
    limit: Int,
    in connection: StoreConnection
  ) throws -> [UserID] {
    try users(Self.usersOfRecord, name, after: user, limit, connection)
  }

  private func users(
    _ query: StoreSQL,
    _ name: String,
    after user: UserID?,
    _ limit: Int,
    _ connection: StoreConnection
  ) throws -> [UserID] {
    // The primary keys begin with the user, so each user costs one look-up.
    let start = user ?? UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0))
    return try connection.all(query, start, name, limit) { try $0[0] as UserID }
  }

  private static let usersOfList: StoreSQL = """
    SELECT id FROM users WHERE id > ? AND EXISTS (
      SELECT 1 FROM list_elements e WHERE e.user_id = users.id AND e.collection = ?
    ) ORDER BY id LIMIT ?
    """
  private static let usersOfMap: StoreSQL = """
    SELECT id FROM users WHERE id > ? AND EXISTS (
      SELECT 1 FROM map_values e WHERE e.user_id = users.id AND e.collection = ?
    ) ORDER BY id LIMIT ?
    """
  private static let usersOfRecord: StoreSQL = """
    SELECT id FROM users WHERE id > ? AND EXISTS (
      SELECT 1 FROM removals e WHERE e.user_id = users.id AND e.collection = ?
    ) ORDER BY id LIMIT ?
    """
}
