import LockstepSQLite

/// A table as a copy of a store reads and writes it. All SQL follows from its columns, which are those of
/// PostgreSQL, so that rows of both databases can be compared. Ids are texts.
package struct CopiedTable: Sendable {
  package typealias Row = [SQLiteValue]

  enum Kind: Sendable {
    case uuid
    case text
    case integer
    case bytes
  }

  let name: String
  let isOfUsers: Bool
  let columns: [(name: String, kind: Kind)]
  /// Reads the rows: those of the users after the id ?1 and up to the id ?2, or all rows.
  let sqliteRead: SQLText
  /// Writes a row. Nil for a view, whose rows follow from those of tables.
  let sqliteInsert: SQLText?
  let sqliteDelete: SQLText
  /// Reads the rows: those of the users after the id $1 and up to the id $2, or all rows.
  let postgreSQLRead: String
  /// Writes rows from one array for each column.
  let postgreSQLInsert: String

  /// The differences in SQLite.
  private enum InSQLite {
    case isView
    /// Each column of SQLite with the expression that makes it from the columns of PostgreSQL, which are the
    /// parameters ?1, ?2 and so on; and how the columns of PostgreSQL are made from it.
    case columns(write: [(name: String, value: String)], read: [String])
  }

  /// In a table of users, the first column is the user's id. `insertOfNew` writes rows of another table of
  /// PostgreSQL, from the rows in `new`.
  private init(
    _ name: String,
    _ columns: [(name: String, kind: Kind)],
    isOfUsers: Bool = true,
    insertOfNew: String? = nil,
    inSQLite: InSQLite? = nil
  ) {
    (self.name, self.isOfUsers, self.columns) = (name, isOfUsers, columns)
    let (user, names) = (columns[0].name, columns.map(\.name))
    func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }

    var (write, read) = (names.enumerated().map { (name: $1, value: "?\($0 + 1)") }, names)
    if case .columns(let ownWrite, let ownRead)? = inSQLite { (write, read) = (ownWrite, ownRead) }
    sqliteRead = SQLText(
      "SELECT \(list(read)) FROM \(name)" + (isOfUsers ? " WHERE \(user) > ?1 AND \(user) <= ?2" : "")
    )
    if case .isView? = inSQLite {
      sqliteInsert = nil
    } else {
      sqliteInsert = SQLText("INSERT INTO \(name) (\(list(write.map(\.name)))) VALUES (\(list(write.map(\.value))))")
    }
    sqliteDelete = SQLText("DELETE FROM \(name)")

    let selected = list(columns.map { $0.kind == .uuid ? "\($0.name)::text" : $0.name })
    postgreSQLRead =
      "SELECT \(selected) FROM \(name)" + (isOfUsers ? " WHERE \(user) > $1::uuid AND \(user) <= $2::uuid" : "")
    let arrays = columns.enumerated().map { index, column in
      switch column.kind {
      case .uuid, .text: "$\(index + 1)::text[]"
      case .integer: "$\(index + 1)::bigint[]"
      case .bytes: "$\(index + 1)::bytea[]"
      }
    }
    let values = list(columns.map { $0.kind == .uuid ? "\($0.name)::uuid" : $0.name })
    let rows = "SELECT \(values) FROM unnest(\(list(arrays))) AS v (\(list(names)))"
    let insert = "INSERT INTO \(name) (\(list(names)))"
    postgreSQLInsert =
      insertOfNew.map { "WITH new (\(list(names))) AS (\(rows)), other AS (\($0)) \(insert) TABLE new" }
      ?? "\(insert) \(rows)"
  }

  /// The columns with the id of the user, of all tables of users in PostgreSQL.
  static let columnsOfUsersInPostgreSQL =
    [("addresses", "user_id"), ("tokens", "user_id"), ("mail_links", "user_id")]
    + ofUsers.map { ($0.name, $0.columns[0].name) }

  // MARK: The tables

  /// The tables of users, in the order in which they are written. The first column is the user's id.
  static let ofUsers = [
    users, identities, sessions, heads, lists, maps, removals, journal, snapshots, idempotencyKeys,
  ]

  /// The tables that are not of users.
  static let ofStore = [
    tokenKey, modules, serviceTokens, registeredDefaults, declaredCollections, outsiderKeys, webhooks, deliveries,
    deliveryQueues,
  ]

  private static let users = CopiedTable(
    "users",
    [
      ("id", .uuid), ("email", .text), ("email_key", .text), ("email_verified_at", .integer),
      ("password_hash", .text), ("password_version", .integer), ("password_changed_at", .integer),
      ("created_at", .integer), ("disabled_at", .integer),
    ],
    insertOfNew:
      "INSERT INTO addresses (email_key, user_id) SELECT email_key, id FROM new WHERE email_key IS NOT NULL"
  )

  private static let identities = CopiedTable(
    "identities",
    [
      ("user_id", .uuid), ("issuer", .text), ("subject", .text), ("created_at", .integer), ("valid_from", .integer),
      ("latest_issue", .integer),
    ]
  )

  private static let sessions = CopiedTable(
    "sessions",
    [
      ("user_id", .uuid), ("id", .uuid), ("token_hash", .bytes), ("device", .text), ("created_at", .integer),
      ("last_seen_at", .integer), ("expires_at", .integer), ("cursor", .text),
    ],
    insertOfNew: "INSERT INTO tokens (token_hash, user_id, session_id) SELECT token_hash, user_id, id FROM new"
  )

  private static let heads = CopiedTable(
    "heads",
    [("user_id", .uuid), ("number", .integer), ("era", .integer), ("written", .integer)],
    inSQLite: .isView
  )

  private static let lists = CopiedTable(
    "list_elements",
    [
      ("user_id", .uuid), ("collection", .text), ("id", .text), ("element", .text), ("rank", .integer),
      ("revision", .integer),
    ]
  )

  private static let maps = CopiedTable(
    "map_values",
    [("user_id", .uuid), ("collection", .text), ("key", .text), ("value", .text), ("revision", .integer)]
  )

  private static let removals = CopiedTable(
    "removals",
    [("user_id", .uuid), ("collection", .text), ("revision", .integer)]
  )

  /// A place of PostgreSQL is larger than any number of SQLite, and keeps its meaning: the order.
  private static let journal = CopiedTable(
    "journal",
    [
      ("user_id", .uuid), ("number", .integer), ("position", .integer), ("era", .integer), ("written", .integer),
      ("place", .integer), ("collection", .text), ("at", .integer), ("session_id", .uuid), ("acted_by", .text),
      ("action", .text), ("mutations", .text),
    ],
    inSQLite: .columns(
      write: [
        ("user_id", "?1"), ("revision", "?2 << 20 | ?4"), ("position", "?3"), ("written", "?5"), ("number", "?6"),
        ("collection", "?7"), ("at", "?8"), ("session_id", "?9"), ("acted_by", "?10"), ("action", "?11"),
        ("mutations", "?12"),
      ],
      read: [
        "user_id", "revision >> 20", "position", "revision & 1048575", "written", "number", "collection", "at",
        "session_id", "acted_by", "action", "mutations",
      ]
    )
  )

  private static let snapshots = CopiedTable(
    "snapshots",
    [("user_id", .uuid), ("collection", .text), ("revision", .integer), ("state", .text)]
  )

  private static let idempotencyKeys = CopiedTable(
    "idempotency_keys",
    [
      ("user_id", .uuid), ("key", .text), ("fingerprint", .bytes), ("at", .integer), ("status", .integer),
      ("fields", .bytes), ("body", .bytes), ("session_id", .uuid), ("revision", .integer),
    ]
  )

  private static let tokenKey = CopiedTable(
    "token_key",
    [("only_row", .integer), ("key", .bytes)],
    isOfUsers: false
  )

  static let modules = CopiedTable(
    "modules",
    [("name", .text), ("kind", .text), ("added_at", .integer)],
    isOfUsers: false
  )

  private static let serviceTokens = CopiedTable(
    "service_tokens",
    [
      ("id", .text), ("name", .text), ("token_hash", .bytes), ("scopes", .text), ("created_at", .integer),
      ("expires_at", .integer),
    ],
    isOfUsers: false
  )

  private static let registeredDefaults = CopiedTable(
    "registered_defaults",
    [("suite", .text), ("key", .text), ("revision", .integer), ("value", .text), ("at", .integer)],
    isOfUsers: false
  )

  private static let declaredCollections = CopiedTable(
    "declared_collections",
    [("name", .text), ("declaration", .text), ("revision", .integer), ("is_closing", .integer)],
    isOfUsers: false
  )

  private static let outsiderKeys = CopiedTable(
    "outsider_keys",
    [
      ("id", .bytes), ("fingerprint", .bytes), ("at", .integer), ("status", .integer), ("fields", .bytes),
      ("body", .bytes),
    ],
    isOfUsers: false
  )

  private static let webhooks = CopiedTable(
    "webhooks",
    [
      ("id", .integer), ("name", .text), ("url", .text), ("events", .text), ("secret", .text), ("old_secret", .text),
      ("old_secret_until", .integer), ("created_at", .integer), ("failing_since", .integer),
      ("disabled_at", .integer), ("secret_number", .integer), ("paused_until", .integer),
    ],
    isOfUsers: false
  )

  private static let deliveries = CopiedTable(
    "deliveries",
    [
      ("number", .integer), ("webhook", .integer), ("id", .uuid), ("user_id", .uuid), ("type", .text),
      ("data", .text), ("created_at", .integer), ("status", .integer), ("attempts", .integer),
      ("attempted_at", .integer), ("last_status", .integer), ("last_error", .text),
    ],
    isOfUsers: false
  )

  private static let deliveryQueues = CopiedTable(
    "delivery_queues",
    [("webhook", .integer), ("user_id", .uuid), ("next_at", .integer), ("claim", .integer)],
    isOfUsers: false
  )
}

/// Why a store could not be copied.
package enum CopyError: Error, Sendable, Equatable {
  /// A row of the source cannot be read.
  case unreadable(table: String)
}
