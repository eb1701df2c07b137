import LockstepCollections
import LockstepTime

/// The permission of a service token.
package enum ServiceScope: String, Sendable, CaseIterable {
  /// Read all routes of the administration.
  case read
  /// Change users' states.
  case write
  /// Create, change, disable and erase users.
  case users
  /// Everything.
  case admin
}

/// A token with which a program administers the server. The store has only its hash.
package struct ServiceToken: Sendable {
  /// A `UUIDv7` as text.
  package let id: String
  /// Unique in the store. The journal shows it for each change that the token makes.
  package let name: String
  package let scopes: Set<ServiceScope>
  package let createdAt: Timestamp
  /// Nil: it does not expire.
  package let expiresAt: Timestamp?

  package init(id: String, name: String, scopes: Set<ServiceScope>, createdAt: Timestamp, expiresAt: Timestamp?) {
    self.id = id
    self.name = name
    self.scopes = scopes
    self.createdAt = createdAt
    self.expiresAt = expiresAt
  }

  /// Whether a reader of the journal could take one name for the other.
  package static func areAlike(_ name: String, _ other: String) -> Bool { name.lowercased() == other.lowercased() }
}

/// The table `service_tokens`.
package struct ServiceTokenRecords {
  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// All tokens, oldest first.
  package func all() throws -> [(token: ServiceToken, hash: TokenHash)] {
    try connection.all(
      "SELECT id, name, scopes, created_at, expires_at, token_hash FROM service_tokens ORDER BY id"
    ) { row in
      let scopes: String = try row[2]
      let token = ServiceToken(
        id: try row[0],
        name: try row[1],
        scopes: Set(scopes.split(separator: " ").compactMap { ServiceScope(rawValue: String($0)) }),
        createdAt: try row[3],
        expiresAt: try row[4]
      )
      return (token, try row[5])
    }
  }

  /// Inserts a token. It may have the name of an expired one. Returns false, and changes
  /// nothing, if another token has the name, or the name in other letter case.
  package func insert(_ token: ServiceToken, hash: TokenHash) throws -> Bool {
    try connection.lock(Array("service tokens".utf8))
    let names = try connection.all(
      "SELECT name FROM service_tokens WHERE coalesce(expires_at > ?, TRUE)",
      token.createdAt
    ) { try $0[0] as String }
    if names.contains(where: { ServiceToken.areAlike($0, token.name) }) { return false }
    // Expired tokens go when a new one comes.
    try connection.run("DELETE FROM service_tokens WHERE expires_at <= ?", token.createdAt)
    let scopes = ServiceScope.allCases.filter(token.scopes.contains).map(\.rawValue).joined(separator: " ")
    try connection.run(
      "INSERT INTO service_tokens (id, name, token_hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
      token.id,
      token.name,
      hash,
      scopes,
      token.createdAt,
      token.expiresAt
    )
    connection.announce { $0.topics.insert(.serviceTokens) }
    return true
  }

  /// Returns whether the token exists. If so, no transaction deletes it before this one has ended.
  package func hold(_ id: String) throws -> Bool {
    try connection.share(Self.lockName(of: id))
    return try connection.first("SELECT 1 FROM service_tokens WHERE id = ?", id) { _ in true } ?? false
  }

  static func lockName(of id: String) -> [UInt8] { Array("service token \(id)".utf8) }

  /// Returns whether there was such a token. Waits for transactions that the token makes.
  package func delete(_ id: String) throws -> Bool {
    try connection.lock(Self.lockName(of: id))
    guard try connection.run("DELETE FROM service_tokens WHERE id = ?", id) == 1 else { return false }
    connection.announce { $0.topics.insert(.serviceTokens) }
    return true
  }
}
