import LockstepCollections
import LockstepJSON
import LockstepSQLite

/// A table as a copy of a store reads and writes it. Its rows have the columns of PostgreSQL, whatever the
/// database, so that rows of both databases can be compared. Ids are texts.
package struct CopiedTable: Sendable {
  package typealias Row = [SQLiteValue]

  enum Kind: Sendable {
    case uuid
    case text
    case integer
    case bytes
  }

  /// How a part of the rows is stored in SQLite.
  struct SQLitePart: Sendable {
    /// Whether a row belongs to this part.
    var takes: @Sendable (Row) -> Bool = { _ in true }
    /// Returns the columns of SQLite's table. In tables of users, those after the id ?1 and up to the id ?2.
    let read: SQLText
    let insert: SQLText
    /// SQLite's columns of a row, for `insert`.
    var values: @Sendable (Row) throws -> [SQLiteValue] = { $0 }
    /// A row from SQLite's columns.
    var row: @Sendable ([SQLiteValue]) throws -> Row = { $0 }
  }

  let name: String
  let isOfUsers: Bool
  let columns: [(name: String, kind: Kind)]
  /// How the rows are read from PostgreSQL: those of the users after the id $1 and up to the id $2, or all
  /// rows.
  let postgreSQLRead: String
  /// Writes rows of another table of PostgreSQL, from the rows in `new`.
  var postgreSQLInsertOfNew: String?
  /// Empty if SQLite derives the rows from those of other tables; then `sqliteRead` reads them.
  var sqlite: [SQLitePart]
  var sqliteRead: SQLText?
  let deleteFromSQLite: SQLText

  /// In a table of users, the first column is the user's id.
  fileprivate init(
    _ name: String,
    _ columns: [(name: String, kind: Kind)],
    isOfUsers: Bool = true,
    sqlite: [SQLitePart],
    sqliteRead: SQLText? = nil
  ) {
    (self.name, self.isOfUsers, self.columns) = (name, isOfUsers, columns)
    (self.sqlite, self.sqliteRead) = (sqlite, sqliteRead)
    deleteFromSQLite = SQLText("DELETE FROM \(name)")
    let list = columns.map { $0.kind == .uuid ? "\($0.name)::text" : $0.name }.joined(separator: ", ")
    let user = columns[0].name
    postgreSQLRead =
      "SELECT \(list) FROM \(name)" + (isOfUsers ? " WHERE \(user) > $1::uuid AND \(user) <= $2::uuid" : "")
  }

  /// Writes rows from one array for each column.
  var postgreSQLInsert: String {
    let names = columns.map(\.name).joined(separator: ", ")
    let selected = columns.map { $0.kind == .uuid ? "\($0.name)::uuid" : $0.name }.joined(separator: ", ")
    let arrays = columns.enumerated().map { index, column in
      switch column.kind {
      case .uuid, .text: "$\(index + 1)::text[]"
      case .integer: "$\(index + 1)::bigint[]"
      case .bytes: "$\(index + 1)::bytea[]"
      }
    }
    let rows = "SELECT \(selected) FROM unnest(\(arrays.joined(separator: ", "))) AS v (\(names))"
    let insert = "INSERT INTO \(name) (\(names))"
    guard let other = postgreSQLInsertOfNew else { return "\(insert) \(rows)" }
    return "WITH new (\(names)) AS (\(rows)), other AS (\(other)) \(insert) TABLE new"
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

  private static let users: CopiedTable = {
    var table = CopiedTable(
      "users",
      [
        ("id", .uuid), ("email", .text), ("email_key", .text), ("email_verified_at", .integer),
        ("password_hash", .text), ("password_version", .integer), ("password_changed_at", .integer),
        ("created_at", .integer), ("disabled_at", .integer),
      ],
      sqlite: [
        SQLitePart(
          read: SQLText(
            """
            SELECT id, email, email_key, email_verified_at, password_hash, password_version, password_changed_at,
              created_at, disabled_at
            FROM users WHERE id > ?1 AND id <= ?2
            """
          ),
          insert: SQLText(
            """
            INSERT INTO users
              (id, email, email_key, email_verified_at, password_hash, password_version, password_changed_at,
              created_at, disabled_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
          )
        )
      ]
    )
    table.postgreSQLInsertOfNew =
      "INSERT INTO addresses (email_key, user_id) SELECT email_key, id FROM new WHERE email_key IS NOT NULL"
    return table
  }()

  private static let identities = CopiedTable(
    "identities",
    [
      ("user_id", .uuid), ("issuer", .text), ("subject", .text), ("created_at", .integer), ("valid_from", .integer),
      ("latest_issue", .integer),
    ],
    sqlite: [
      SQLitePart(
        read: SQLText(
          """
          SELECT user_id, issuer, subject, created_at, valid_from, latest_issue
          FROM identities WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText(
          """
          INSERT INTO identities (user_id, issuer, subject, created_at, valid_from, latest_issue)
          VALUES (?, ?, ?, ?, ?, ?)
          """
        )
      )
    ]
  )

  private static let sessions: CopiedTable = {
    var table = CopiedTable(
      "sessions",
      [
        ("user_id", .uuid), ("id", .uuid), ("token_hash", .bytes), ("device", .text), ("created_at", .integer),
        ("last_seen_at", .integer), ("expires_at", .integer), ("cursor", .text),
      ],
      sqlite: [
        SQLitePart(
          read: SQLText(
            """
            SELECT user_id, id, token_hash, device, created_at, last_seen_at, expires_at, cursor
            FROM sessions WHERE user_id > ?1 AND user_id <= ?2
            """
          ),
          insert: SQLText(
            """
            INSERT INTO sessions (user_id, id, token_hash, device, created_at, last_seen_at, expires_at, cursor)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
          )
        )
      ]
    )
    table.postgreSQLInsertOfNew =
      "INSERT INTO tokens (token_hash, user_id, session_id) SELECT token_hash, user_id, id FROM new"
    return table
  }()

  /// In SQLite, a user's last entry of the journal.
  private static let heads = CopiedTable(
    "heads",
    [("user_id", .uuid), ("number", .integer), ("era", .integer), ("written", .integer)],
    sqlite: [],
    sqliteRead: SQLText(
      """
      SELECT u.id, coalesce(j.revision >> 20, 0), coalesce(j.revision & 1048575, 0), coalesce(j.written, 0)
      FROM users AS u LEFT JOIN journal AS j ON j.number = (
        SELECT number FROM journal WHERE user_id = u.id ORDER BY revision DESC, position DESC LIMIT 1
      )
      WHERE u.id > ?1 AND u.id <= ?2
      """
    )
  )

  private static let lists = CopiedTable(
    "list_elements",
    [
      ("user_id", .uuid), ("collection", .text), ("id", .text), ("element", .text), ("rank", .integer),
      ("revision", .integer),
    ],
    sqlite: [
      SQLitePart(
        takes: { $0[1] == .text("favorites") },
        read: SQLText(
          """
          SELECT user_id, id, title, data, added_at, updated_at, rank, revision
          FROM favorites WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText(
          """
          INSERT INTO favorites (user_id, id, title, data, added_at, updated_at, rank, revision)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          """
        ),
        values: { row in
          let members = try FavoriteText.members(of: row[3])
          return [row[0], row[2], members.title, members.data, members.addedAt, members.updatedAt, row[4], row[5]]
        },
        row: { [$0[0], .text("favorites"), $0[1], FavoriteText.element(of: $0[1...5]), $0[6], $0[7]] }
      ),
      SQLitePart(
        takes: { $0[1] != .text("favorites") },
        read: SQLText(
          """
          SELECT user_id, module, id, element, rank, revision FROM list_elements WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText(
          "INSERT INTO list_elements (user_id, module, id, element, rank, revision) VALUES (?, ?, ?, ?, ?, ?)"
        )
      ),
    ]
  )

  private static let maps = CopiedTable(
    "map_values",
    [("user_id", .uuid), ("collection", .text), ("key", .text), ("value", .text), ("revision", .integer)],
    sqlite: [
      SQLitePart(
        takes: { suite(of: $0[1]) != nil },
        read: SQLText(
          """
          SELECT user_id, 'defaults/' || suite, key, value, revision
          FROM defaults WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText("INSERT INTO defaults (user_id, suite, key, value, revision) VALUES (?, ?, ?, ?, ?)"),
        values: { [$0[0], suite(of: $0[1]) ?? .null, $0[2], $0[3], $0[4]] }
      ),
      SQLitePart(
        takes: { $0[1] == .text("profile") },
        read: SQLText(
          """
          SELECT user_id, field, value, revision FROM profiles WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText("INSERT INTO profiles (user_id, field, value, revision) VALUES (?, ?, ?, ?)"),
        values: { [$0[0], $0[2], $0[3], $0[4]] },
        row: { [$0[0], .text("profile"), $0[1], $0[2], $0[3]] }
      ),
      SQLitePart(
        takes: { suite(of: $0[1]) == nil && $0[1] != .text("profile") },
        read: SQLText(
          """
          SELECT user_id, module, key, value, revision FROM map_values WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText("INSERT INTO map_values (user_id, module, key, value, revision) VALUES (?, ?, ?, ?, ?)")
      ),
    ]
  )

  /// The suite in the name of a collection of the module `defaults`.
  private static func suite(of collection: SQLiteValue) -> SQLiteValue? {
    guard case .text(let name) = collection, name.hasPrefix("defaults/") else { return nil }
    return .text(String(name.dropFirst("defaults/".count)))
  }

  private static let removals = CopiedTable(
    "removals",
    [("user_id", .uuid), ("collection", .text), ("revision", .integer)],
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT user_id, collection, revision FROM removals WHERE user_id > ?1 AND user_id <= ?2"),
        insert: SQLText("INSERT INTO removals (user_id, collection, revision) VALUES (?, ?, ?)")
      )
    ]
  )

  private static let journal = CopiedTable(
    "journal",
    [
      ("user_id", .uuid), ("number", .integer), ("position", .integer), ("era", .integer), ("written", .integer),
      ("place", .integer), ("collection", .text), ("at", .integer), ("session_id", .uuid), ("acted_by", .text),
      ("action", .text), ("mutations", .text),
    ],
    sqlite: [
      SQLitePart(
        read: SQLText(
          """
          SELECT user_id, revision >> 20, position, revision & 1048575, written, number, collection, at, session_id,
            acted_by, action, mutations
          FROM journal WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        // A place of PostgreSQL is larger than any number of SQLite, and keeps its meaning: the order.
        insert: SQLText(
          """
          INSERT INTO journal
            (user_id, revision, position, written, number, collection, at, session_id, acted_by, action, mutations)
          VALUES (?1, ?2 << 20 | ?4, ?3, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
          """
        )
      )
    ]
  )

  private static let snapshots = CopiedTable(
    "snapshots",
    [("user_id", .uuid), ("collection", .text), ("revision", .integer), ("state", .text)],
    sqlite: [
      SQLitePart(
        read: SQLText(
          "SELECT user_id, collection, revision, state FROM snapshots WHERE user_id > ?1 AND user_id <= ?2"
        ),
        insert: SQLText("INSERT INTO snapshots (user_id, collection, revision, state) VALUES (?, ?, ?, ?)")
      )
    ]
  )

  private static let idempotencyKeys = CopiedTable(
    "idempotency_keys",
    [
      ("user_id", .uuid), ("key", .text), ("fingerprint", .bytes), ("at", .integer), ("status", .integer),
      ("fields", .bytes), ("body", .bytes), ("session_id", .uuid), ("revision", .integer),
    ],
    sqlite: [
      SQLitePart(
        read: SQLText(
          """
          SELECT user_id, key, fingerprint, at, status, fields, body, session_id, revision
          FROM idempotency_keys WHERE user_id > ?1 AND user_id <= ?2
          """
        ),
        insert: SQLText(
          """
          INSERT INTO idempotency_keys (user_id, key, fingerprint, at, status, fields, body, session_id, revision)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
        )
      )
    ]
  )

  private static let tokenKey = CopiedTable(
    "token_key",
    [("only_row", .integer), ("key", .bytes)],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT only_row, key FROM token_key"),
        insert: SQLText("INSERT INTO token_key (only_row, key) VALUES (?, ?)")
      )
    ]
  )

  static let modules = CopiedTable(
    "modules",
    [("name", .text), ("kind", .text), ("added_at", .integer)],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT name, kind, added_at FROM modules"),
        insert: SQLText("INSERT INTO modules (name, kind, added_at) VALUES (?, ?, ?)")
      )
    ]
  )

  private static let serviceTokens = CopiedTable(
    "service_tokens",
    [
      ("id", .text), ("name", .text), ("token_hash", .bytes), ("scopes", .text), ("created_at", .integer),
      ("expires_at", .integer),
    ],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT id, name, token_hash, scopes, created_at, expires_at FROM service_tokens"),
        insert: SQLText(
          "INSERT INTO service_tokens (id, name, token_hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
        )
      )
    ]
  )

  private static let registeredDefaults = CopiedTable(
    "registered_defaults",
    [("suite", .text), ("key", .text), ("revision", .integer), ("value", .text), ("at", .integer)],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT suite, key, revision, value, at FROM registered_defaults"),
        insert: SQLText("INSERT INTO registered_defaults (suite, key, revision, value, at) VALUES (?, ?, ?, ?, ?)")
      )
    ]
  )

  private static let declaredCollections = CopiedTable(
    "declared_collections",
    [("name", .text), ("declaration", .text), ("revision", .integer), ("is_closing", .integer)],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT name, declaration, revision, is_closing FROM declared_collections"),
        insert: SQLText(
          "INSERT INTO declared_collections (name, declaration, revision, is_closing) VALUES (?, ?, ?, ?)"
        )
      )
    ]
  )

  private static let outsiderKeys = CopiedTable(
    "outsider_keys",
    [
      ("id", .bytes), ("fingerprint", .bytes), ("at", .integer), ("status", .integer), ("fields", .bytes),
      ("body", .bytes),
    ],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT id, fingerprint, at, status, fields, body FROM outsider_keys"),
        insert: SQLText(
          "INSERT INTO outsider_keys (id, fingerprint, at, status, fields, body) VALUES (?, ?, ?, ?, ?, ?)"
        )
      )
    ]
  )

  private static let webhooks = CopiedTable(
    "webhooks",
    [
      ("id", .integer), ("name", .text), ("url", .text), ("events", .text), ("secret", .text), ("old_secret", .text),
      ("old_secret_until", .integer), ("created_at", .integer), ("failing_since", .integer), ("disabled_at", .integer),
      ("secret_number", .integer), ("paused_until", .integer),
    ],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText(
          """
          SELECT id, name, url, events, secret, old_secret, old_secret_until, created_at, failing_since, disabled_at,
            secret_number, paused_until
          FROM webhooks
          """
        ),
        insert: SQLText(
          """
          INSERT INTO webhooks
            (id, name, url, events, secret, old_secret, old_secret_until, created_at, failing_since, disabled_at,
             secret_number, paused_until)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
        )
      )
    ]
  )

  private static let deliveries = CopiedTable(
    "deliveries",
    [
      ("number", .integer), ("webhook", .integer), ("id", .uuid), ("user_id", .uuid), ("type", .text), ("data", .text),
      ("created_at", .integer), ("status", .integer), ("attempts", .integer), ("attempted_at", .integer),
      ("last_status", .integer), ("last_error", .text),
    ],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText(
          """
          SELECT number, webhook, id, user_id, type, data, created_at, status, attempts, attempted_at, last_status,
            last_error
          FROM deliveries
          """
        ),
        insert: SQLText(
          """
          INSERT INTO deliveries
            (number, webhook, id, user_id, type, data, created_at, status, attempts, attempted_at, last_status, last_error)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
        )
      )
    ]
  )

  private static let deliveryQueues = CopiedTable(
    "delivery_queues",
    [("webhook", .integer), ("user_id", .uuid), ("next_at", .integer), ("claim", .integer)],
    isOfUsers: false,
    sqlite: [
      SQLitePart(
        read: SQLText("SELECT webhook, user_id, next_at, claim FROM delivery_queues"),
        insert: SQLText("INSERT INTO delivery_queues (webhook, user_id, next_at, claim) VALUES (?, ?, ?, ?)")
      )
    ]
  )
}

/// A favorite: one JSON text in PostgreSQL, a column for each member in SQLite.
private enum FavoriteText {
  /// From the columns id, title, data, added_at and updated_at, byte for byte as `LayoutTable` does it.
  static func element(of columns: ArraySlice<SQLiteValue>) -> SQLiteValue {
    var bytes: [UInt8] = []
    for (name, value) in zip(["id", "title", "data", "addedAt", "updatedAt"], columns) {
      guard case .text(let text) = value else { continue }
      bytes.append(contentsOf: (bytes.isEmpty ? "{" : ",").utf8)
      bytes.append(contentsOf: "\"\(name)\":".utf8)
      if name == "data" { bytes.append(contentsOf: text.utf8) } else { bytes.append(json: text) }
    }
    bytes.append(UInt8(ascii: "}"))
    return .text(String(decoding: bytes, as: UTF8.self))
  }

  static func members(
    of element: SQLiteValue
  ) throws -> (title: SQLiteValue, data: SQLiteValue, addedAt: SQLiteValue, updatedAt: SQLiteValue) {
    guard case .text(let text) = element,
      let object = try? JSON(parsing: Array(text.utf8), maximumDepth: JSON.highestDepth).objectValue
    else { throw CopyError.unreadable(table: "list_elements") }
    func member(_ name: String) -> SQLiteValue { object[name]?.stringValue.map { .text($0) } ?? .null }
    let data: SQLiteValue = object["data"].map { .text($0.description) } ?? .null
    return (member("title"), data, member("addedAt"), member("updatedAt"))
  }
}

/// Why a store could not be copied.
package enum CopyError: Error, Sendable, Equatable {
  /// A row of the source cannot be read.
  case unreadable(table: String)
}
