import LockstepCollections
import LockstepJSON

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
      + all(Self.unqueuedDeliveries) { "the table \($0) lacks the queue of deliveries about the user \($1)" }
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

  /// Up to 100 users, in the order of their ids.
  package struct Page {
    fileprivate let start: String
    fileprivate let rows: [(id: String, email: String?, emailKey: String?)]

    /// The ids as texts, because those of damaged rows may be of any version.
    package var ids: [String] { rows.map(\.id) }
  }

  /// The users after those of another page, or the first ones.
  package func users(after page: Page?) throws -> Page {
    let start = page.map { $0.rows.last?.id ?? $0.start } ?? "00000000-0000-0000-0000-000000000000"
    return Page(
      start: start,
      rows: try connection.all(
        "SELECT id::text, email, email_key FROM users WHERE id > ? ORDER BY id LIMIT 100",
        start
      ) { (try $0[0], try $0[1], try $0[2]) }
    )
  }

  /// Rows of the page's users that contradict each other. The journal is not replayed.
  package func contradictions(of page: Page) throws -> [String] {
    guard let end = page.rows.last?.id else { return [] }
    return page.rows.compactMap(Self.wrongKey) + (try entries(after: page.start, upTo: end))
      + (try eras(after: page.start, upTo: end))
  }

  // In Swift, because PostgreSQL's lower() depends on the locale of the database.
  private static func wrongKey(of row: (id: String, email: String?, emailKey: String?)) -> String? {
    guard let email = row.email, let key = row.emailKey else { return nil }
    if EmailAddress.key(of: email).utf8.elementsEqual(key.utf8) { return nil }
    return "user \(row.id): email_key in the table users is not the address email in lower case"
  }

  /// Entries of the journal whose columns era and written contradict other entries of the user.
  private func entries(after start: String, upTo end: String) throws -> [String] {
    try connection.all(Self.wrongEntries, start, end) { row in
      let (user, eras, sizes): (String, Int, Int) = (try row[0], try row[1], try row[3])
      var findings: [String] = []
      if let first = try row[2] as Int? {
        findings.append(
          "user \(user): \(Self.entries(eras)) an impossible era, first at revision \(first)"
        )
      }
      if let first = try row[4] as Int? {
        findings.append(
          "user \(user): \(Self.entries(sizes)) a value in the column written that is not the size of the "
            + "user's entries so far, first at revision \(first)"
        )
      }
      return findings
    }
    .flatMap { $0 }
  }

  private static func entries(_ count: Int) -> String {
    count == 1 ? "1 entry of the journal has" : "\(count) entries of the journal have"
  }

  /// Rows whose revision has another era than the entry of the same number in the journal.
  private func eras(after start: String, upTo end: String) throws -> [String] {
    try connection.all(Self.otherEras, start, end) { row in
      let (table, user, count, first): (String, String, Int, Int) = (try row[0], try row[1], try row[2], try row[3])
      return
        "user \(user): \(count == 1 ? "1 row" : "\(count) rows") of the table \(table) and the journal have different "
        + "eras, first at revision \(first)"
    }
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

  /// The modules with which the store was served, besides those that each server has.
  package func modules() throws -> [ExactText: CollectionMutation.Kind] {
    let rows = try connection.all("SELECT name, kind FROM modules") { (try $0[0] as String, try $0[1] as String) }
    return Dictionary(
      rows.compactMap { name, kind in CollectionMutation.Kind(rawValue: kind).map { (name.exact, $0) } }
    ) {
      first,
      _ in first
    }
  }

  /// Rows of the page's users whose module the store does not have. `kind` returns the kind of a module.
  package func strayCollections(
    of page: Page,
    kind: (_ module: String) -> CollectionMutation.Kind?,
    isDeleted: (_ module: String) -> Bool
  ) throws -> [String] {
    guard let end = page.rows.last?.id else { return [] }
    return try connection.all(Self.modulesOfRows, page.start, end) { row in
      let (table, user, module): (String, String, String) = (try row[0], try row[1], try row[2])
      let (found, wanted): (CollectionMutation.Kind?, String) = (kind(module), try row[3])
      if let found, wanted == "module" || found.rawValue == wanted { return nil }
      // Only rows of history may have the name of a deleted collection.
      if wanted == "module", isDeleted(module) { return nil }
      return "user \(user): the table \(table) has rows of “\(module)”, which is not a \(wanted) of this store"
    }
    .compactMap { $0 }
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
      UNION SELECT 'identities', user_id FROM identities
      UNION SELECT 'sessions', user_id FROM sessions
      UNION SELECT 'tokens', user_id FROM tokens
      UNION SELECT 'mail_links', user_id FROM mail_links
      UNION SELECT 'list_elements', user_id FROM list_elements
      UNION SELECT 'map_values', user_id FROM map_values
      UNION SELECT 'removals', user_id FROM removals
      UNION SELECT 'journal', user_id FROM journal
      UNION SELECT 'snapshots', user_id FROM snapshots
      UNION SELECT 'idempotency_keys', user_id FROM idempotency_keys
    ) AS s
    WHERE NOT EXISTS (SELECT 1 FROM users AS u WHERE u.id = s.user_id) ORDER BY 1, 2 LIMIT ?
    """

  private static let unqueuedDeliveries: StoreSQL = """
    SELECT DISTINCT 'delivery_queues', d.user_id::text FROM deliveries AS d
    WHERE d.status = 0 AND EXISTS (SELECT FROM webhooks AS w WHERE w.id = d.webhook AND w.name IS NOT NULL)
      AND NOT EXISTS (SELECT FROM delivery_queues AS q WHERE q.webhook = d.webhook AND q.user_id = d.user_id)
    ORDER BY 2 LIMIT ?
    """

  private static let usersWithoutHead: StoreSQL = """
    SELECT 'heads', u.id::text FROM users AS u
    WHERE NOT EXISTS (SELECT 1 FROM heads AS h WHERE h.user_id = u.id) ORDER BY 2 LIMIT ?
    """

  private static let usersWithoutAddress: StoreSQL = """
    SELECT 'addresses', u.id::text FROM users AS u LEFT JOIN addresses AS a ON a.email_key = u.email_key
    WHERE u.email_key IS NOT NULL AND a.user_id IS DISTINCT FROM u.id ORDER BY 2 LIMIT ?
    """

  private static let strayAddresses: StoreSQL = """
    SELECT 'addresses', a.user_id::text FROM addresses AS a JOIN users AS u ON u.id = a.user_id
    WHERE u.email_key IS DISTINCT FROM a.email_key ORDER BY 2 LIMIT ?
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

  // Within a revision, all entries have its era. The era 0 is that of the first schemas, and never
  // follows another one. Each entry adds its texts to the size.
  private static let wrongEntries: StoreSQL = """
    SELECT user_id::text,
      count(*) FILTER (WHERE has_wrong_era), min(number) FILTER (WHERE has_wrong_era),
      count(*) FILTER (WHERE has_wrong_size), min(number) FILTER (WHERE has_wrong_size)
    FROM (
      SELECT user_id, number,
        era NOT BETWEEN 0 AND 1048575 OR number = last_number AND era <> last_era OR era = 0 AND last_era <> 0
          AS has_wrong_era,
        CASE
          WHEN last_number IS NOT NULL THEN written::numeric - last_written <> size
          WHEN number = 1 THEN written <> size
          ELSE written < size
        END AS has_wrong_size
      FROM (
        SELECT user_id, number, era, written, octet_length(action)::bigint + octet_length(mutations) AS size,
          lag(number) OVER own AS last_number, lag(era) OVER own AS last_era, lag(written) OVER own AS last_written
        FROM journal WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
        WINDOW own AS (PARTITION BY user_id ORDER BY number, position)
      ) AS entry
    ) AS checked
    GROUP BY user_id HAVING bool_or(has_wrong_era) OR bool_or(has_wrong_size) ORDER BY user_id
    """

  // The module is the part of the name before the first slash.
  private static let modulesOfRows: StoreSQL = """
    SELECT DISTINCT 'list_elements', user_id::text, split_part(collection, '/', 1), 'list' FROM list_elements
    WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
    UNION ALL SELECT DISTINCT 'map_values', user_id::text, split_part(collection, '/', 1), 'map' FROM map_values
    WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
    UNION ALL SELECT DISTINCT 'removals', user_id::text, split_part(collection, '/', 1), 'module' FROM removals
    WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
    """

  private static let otherEras: StoreSQL = """
    SELECT r.source, r.user_id::text, count(*), min(r.revision >> 20) FROM (
      SELECT 'list_elements' AS source, user_id, revision FROM list_elements
      WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
      UNION ALL SELECT 'map_values', user_id, revision FROM map_values
      WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
      UNION ALL SELECT 'removals', user_id, revision FROM removals
      WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
      UNION ALL SELECT 'snapshots', user_id, revision FROM snapshots
      WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
      UNION ALL SELECT 'idempotency_keys', user_id, revision FROM idempotency_keys
      WHERE user_id > ?1::uuid AND user_id <= ?2::uuid AND revision IS NOT NULL
    ) AS r
    JOIN (
      SELECT user_id, number, min(era) AS era FROM journal WHERE user_id > ?1::uuid AND user_id <= ?2::uuid
      GROUP BY user_id, number
    ) AS j ON j.user_id = r.user_id AND j.number = r.revision >> 20
    WHERE j.era <> r.revision & 1048575 GROUP BY 1, 2 ORDER BY 2, 1
    """

  private static let sharedPlaces: StoreSQL = """
    SELECT 'journal', place::text FROM journal GROUP BY place HAVING count(*) > 1 ORDER BY place LIMIT ?
    """
}
