import LockstepCollections

/// Looks in PostgreSQL for rows that contradict each other. In SQLite, foreign keys and unique columns
/// prevent such rows. Run it in a snapshot. Each method returns one text for each finding.
package struct DatabaseAudit {
  private let connection: StoreConnection
  /// How many rows one search returns at most.
  private let limit: Int

  package init(_ connection: StoreConnection, limit: Int) {
    (self.connection, self.limit) = (connection, limit)
  }

  /// The size of the database in bytes.
  package func size() throws -> Int {
    try connection.first("SELECT pg_database_size(current_database())") { try $0[0] as Int } ?? 0
  }

  /// Rows of users that do not exist, and users, addresses, sessions and tokens without their counterpart.
  package func references() throws -> [String] {
    try all(Self.strayRows) { "the table \($0) has rows of the user \($1), who does not exist" }
      + all(Self.usersWithoutHead) { "the user \($1) has no row in the table \($0)" }
      + all(Self.usersWithoutAddress) {
        "the address of the user \($1) is not in the table \($0), or belongs to another"
      }
      + all(Self.strayAddresses) { "the table \($0) has an address that the user \($1) does not have" }
      + all(Self.sessionsWithoutToken) { "a session of the user \($1) has no row in the table \($0)" }
      + all(Self.strayTokens) { "the table \($0) has a token of the user \($1) without a session" }
  }

  /// Damage of the store's id and of its token key.
  package func identity() throws -> [String] {
    var findings: [String] = []
    let stores = try count("SELECT count(*) FROM store")
    if stores != 1 { findings.append("the table store has \(stores) rows, not one") }
    let sessions = try count("SELECT count(*) FROM sessions")
    if try count("SELECT count(*) FROM token_key") == 0, sessions > 0 {
      findings.append("the table token_key is empty: the server refuses the tokens of all \(sessions) sessions")
    }
    return findings
  }

  /// Heads that are not the end of their user's journal, and entries that share a place.
  package func journal() throws -> [String] {
    try all(Self.wrongHeads) { "user \($1): the row in the table \($0) is not the end of the journal" }
      + all(Self.sharedPlaces) { "entries of the table \($0) share the place \($1)" }
  }

  package func users() throws -> Int { try count("SELECT count(*) FROM users") }

  /// Up to 100 users after `last`, in the order of their ids.
  package func users(after last: UserID?) throws -> [UserID] {
    try connection.all(
      "SELECT id FROM users WHERE id > ? ORDER BY id LIMIT 100",
      last?.description ?? "00000000-0000-0000-0000-000000000000"
    ) { try $0[0] }
  }

  /// Passes each JSON text of the user's tables to `body`, with the words for its place.
  package func forEachText(of user: UserID, _ body: (_ place: String, _ text: String) throws -> Void) throws {
    try connection.forEach(
      """
      SELECT 'list_elements', collection, id, NULL::bigint, element FROM list_elements WHERE user_id = ?1
      UNION ALL SELECT 'map_values', collection, key, NULL, value FROM map_values WHERE user_id = ?1
      UNION ALL SELECT 'snapshots', collection, NULL, revision >> 20, state FROM snapshots WHERE user_id = ?1
      """,
      user
    ) { row in
      let (table, collection): (String, String) = (try row[0], try row[1])
      let name = try (row[2] as String?).map { "“\($0)” in \(collection)" } ?? collection
      let revision = try (row[3] as Int?).map { " at revision \($0)" } ?? ""
      try body("\(table): \(name) of user \(user)\(revision)", try row[4])
    }
  }

  /// Passes the values of registered defaults to `body`, each with the words for its place.
  package func forEachRegisteredDefault(_ body: (_ place: String, _ text: String) throws -> Void) throws {
    try connection.forEach(
      "SELECT suite, key, revision >> 20, value FROM registered_defaults WHERE value IS NOT NULL"
    ) { row in
      let (suite, key, revision): (String, String, Int) = (try row[0], try row[1], try row[2])
      try body("registered_defaults: “\(key)” in \(suite) at revision \(revision)", try row[3])
    }
  }

  private func count(_ sql: StoreSQL) throws -> Int { try connection.first(sql) { try $0[0] as Int } ?? 0 }

  /// The rows of a search: a table and a name.
  private func all(_ sql: StoreSQL, _ text: (_ table: String, _ name: String) -> String) throws -> [String] {
    try connection.all(sql, limit) { text(try $0[0], try $0[1]) }
  }

  // Ids are read as texts, because those of damaged rows may be of any version.

  private static let strayRows: StoreSQL = """
    SELECT s.source, s.user_id::text FROM (
      SELECT 'heads' AS source, user_id FROM heads
      UNION SELECT 'addresses', user_id FROM addresses
      UNION SELECT 'sessions', user_id FROM sessions
      UNION SELECT 'tokens', user_id FROM tokens
      UNION SELECT 'list_elements', user_id FROM list_elements
      UNION SELECT 'map_values', user_id FROM map_values
      UNION SELECT 'removals', user_id FROM removals
      UNION SELECT 'journal', user_id FROM journal
      UNION SELECT 'snapshots', user_id FROM snapshots
      UNION SELECT 'idempotency_keys', user_id FROM idempotency_keys
    ) AS s
    WHERE NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = s.user_id) ORDER BY 1, 2 LIMIT ?
    """

  private static let usersWithoutHead: StoreSQL = """
    SELECT 'heads', u.id::text FROM users AS u
    WHERE NOT EXISTS (SELECT 1 FROM heads AS h WHERE h.user_id = u.id) ORDER BY 2 LIMIT ?
    """

  private static let usersWithoutAddress: StoreSQL = """
    SELECT 'addresses', u.id::text FROM users AS u LEFT JOIN addresses AS a ON a.email_key = u.email_key
    WHERE a.user_id IS DISTINCT FROM u.id ORDER BY 2 LIMIT ?
    """

  private static let strayAddresses: StoreSQL = """
    SELECT 'addresses', a.user_id::text FROM addresses AS a JOIN users AS u ON u.id = a.user_id
    WHERE u.email_key <> a.email_key ORDER BY 2 LIMIT ?
    """

  private static let sessionsWithoutToken: StoreSQL = """
    SELECT 'tokens', s.user_id::text FROM sessions AS s LEFT JOIN tokens AS t ON t.token_hash = s.token_hash
    WHERE t.user_id IS DISTINCT FROM s.user_id OR t.session_id IS DISTINCT FROM s.id ORDER BY 2 LIMIT ?
    """

  private static let strayTokens: StoreSQL = """
    SELECT 'tokens', t.user_id::text
    FROM tokens AS t LEFT JOIN sessions AS s ON s.user_id = t.user_id AND s.id = t.session_id
    WHERE s.token_hash IS DISTINCT FROM t.token_hash ORDER BY 2 LIMIT ?
    """

  private static let wrongHeads: StoreSQL = """
    SELECT 'heads', h.user_id::text FROM heads AS h LEFT JOIN LATERAL (
      SELECT number, era, written FROM journal AS j
      WHERE j.user_id = h.user_id ORDER BY number DESC, position DESC LIMIT 1
    ) AS e ON true
    WHERE (h.number, h.era, h.written) IS DISTINCT FROM
      (coalesce(e.number, 0), coalesce(e.era, 0), coalesce(e.written, 0))
    ORDER BY 2 LIMIT ?
    """

  private static let sharedPlaces: StoreSQL = """
    SELECT 'journal', place::text FROM journal GROUP BY place HAVING count(*) > 1 ORDER BY place LIMIT ?
    """
}
