import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore
import LockstepSync

/// Checks a whole store for damage, even while a server uses it, and changes nothing.
///
/// Each part of the check reads a snapshot: the file as a whole, the JSON texts, and every 100
/// users. While a part runs, the WAL cannot restart at its beginning, so it grows with every write.
package struct StoreCheck: Sendable {
  static let listed = 100

  private let store: String
  private let tables: ModuleTables
  private let defaults: DefaultsQuota
  private let migrator: Migrator

  package init(
    of store: String,
    favorites: CollectionQuota = .init(),
    defaults: DefaultsQuota = .init(),
    modules: [UserModule] = []
  ) {
    self.store = store
    migrator = Migrator(modules: modules)
    tables = ModuleTables(ofStoreWith: modules, favorites: favorites, defaults: defaults)
    self.defaults = defaults
  }

  /// Checks the store on this thread. Throws if the file is not a store that this program knows, or
  /// cannot be read at all.
  package func run(progress: (_ users: Int, _ ofUsers: Int) -> Void = { _, _ in }) throws -> CheckReport {
    try run(on: StorePath.openForReading(store), progress)
  }

  func run(on connection: SQLiteConnection, _ progress: (Int, Int) -> Void = { _, _ in }) throws -> CheckReport {
    var report = try connection.snapshot {
      var report = CheckReport(store: store, schema: try migrator.examine(connection), knownSchema: migrator.last)
      report.pages = try connection.first("PRAGMA page_count") { row in try row[0] as Int } ?? 0
      report.pageSize = try connection.first("PRAGMA page_size") { row in try row[0] as Int } ?? 0
      for words in try connection.damage(thoroughly: true) { report.add(.file, words) }
      try guarding(.schema, &report) { report in
        for fault in try migrator.schemaFaults(of: connection) { report.add(.schema, fault) }
      }
      if report.counts[.schema] == nil {
        try guarding(.references, &report) { report in try checkReferences(connection, &report) }
      }
      return report
    }
    guard report.isWhole, report.counts[.schema] == nil else { return report }
    let unreadable = try connection.snapshot {
      try guarding(.identity, &report) { report in
        report.identity = try connection.first("SELECT id FROM store") { row in try row[0] as String }
        for fault in try connection.identityFaults() { report.add(.identity, fault) }
      }
      return try checkTexts(connection, &report)
    }
    try guarding(.users, &report) { report in try checkUsers(connection, except: unreadable, &report, progress) }
    return report
  }

  private func checkReferences(_ connection: SQLiteConnection, _ report: inout CheckReport) throws {
    for missing in try connection.missingReferences(limit: Self.listed) {
      let row = missing.row.map { " \($0)" } ?? ""
      report.add(.references, "row\(row) of \(missing.table) refers to a missing row of \(missing.parent)")
    }
  }

  /// Adds texts that cannot be read to the report, and returns their users. The states of these
  /// users cannot be rebuilt.
  private func checkTexts(_ connection: SQLiteConnection, _ report: inout CheckReport) throws -> Set<ExactText> {
    var users: Set<ExactText> = []
    try guarding(.texts, &report) { report in try checkEncodings(connection, &users, &report) }
    for (table, sql) in Self.texts {
      try guarding(.texts, &report) { report in
        try connection.forEach(sql) { row in
          let (name, place): (String, String) = (try row[1], try row[2])
          var owner = ""
          if let user: String = try row[0] {
            users.insert(user.exact)
            owner = " of user \(user)"
          }
          report.add(.texts, "\(table): \(name)\(owner)\(place) is not valid JSON")
        }
      }
    }
    return users
  }

  /// Adds a finding for each text that is not UTF-8, in any column. SQLite does not check this, and
  /// takes such JSON for valid.
  private func checkEncodings(
    _ connection: SQLiteConnection,
    _ users: inout Set<ExactText>,
    _ report: inout CheckReport
  ) throws {
    var columns: [String: [String]] = [:]
    try connection.forEach(
      "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
    ) { row in columns[try row[0], default: []].append(try row[1]) }
    for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
      let names = columns.map(Self.quoted).joined(separator: ", ")
      let owner = columns.firstIndex(of: "user_id")
      try connection.forEach(SQLText("SELECT \(names) FROM \(Self.quoted(table))"), []) { row in
        for (index, column) in columns.enumerated() where !row.isReadable(at: index) {
          var place = ""
          if let owner, row.isReadable(at: owner) {
            let user: String = try row[owner]
            users.insert(user.exact)
            place = " of user \(user)"
          }
          report.add(.texts, "\(table): a text\(place) in the column \(column) is not UTF-8")
        }
      }
    }
  }

  private static func quoted(_ name: String) -> String {
    "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }

  /// The columns of the rows are the user if there is one, the name of the text, and its place.
  private static let texts: [(table: String, sql: StaticString)] = [
    (
      "journal",
      """
      SELECT user_id, 'an entry', ' at revision ' || (revision >> 20) FROM journal
      WHERE NOT json_valid(action) OR NOT json_valid(mutations)
      """
    ),
    (
      "list_elements",
      "SELECT user_id, '“' || id || '” in ' || collection, '' FROM list_elements WHERE NOT json_valid(element)"
    ),
    (
      "map_values",
      "SELECT user_id, '“' || key || '” in ' || collection, '' FROM map_values WHERE NOT json_valid(value)"
    ),
    (
      "snapshots",
      """
      SELECT user_id, collection, ' at revision ' || (revision >> 20) FROM snapshots WHERE NOT json_valid(state)
      """
    ),
    (
      "declared_collections",
      """
      SELECT NULL, 'the declaration of ' || name, '' FROM declared_collections
      WHERE declaration IS NOT NULL AND NOT json_valid(declaration)
      """
    ),
    (
      "registered_defaults",
      """
      SELECT NULL, '“' || key || '” in ' || suite, ' at revision ' || (revision >> 20) FROM registered_defaults
      WHERE value IS NOT NULL AND NOT json_valid(value)
      """
    ),
  ]

  private func checkUsers(
    _ connection: SQLiteConnection,
    except unreadable: Set<ExactText>,
    _ report: inout CheckReport,
    _ progress: (Int, Int) -> Void
  ) throws {
    try tables.readDeclared(from: .sqlite(connection))
    report.users = try connection.first("SELECT count(*) FROM users") { row in try row[0] as Int } ?? 0
    var (last, done) = ("", 0)
    while true {
      let ids = try checkPage(connection, after: last, except: unreadable, &report)
      guard let end = ids.last else { return }
      last = end
      done += ids.count
      progress(done, report.users)
    }
  }

  /// Checks up to 100 users after `last` on a snapshot, and returns their ids.
  private func checkPage(
    _ connection: SQLiteConnection,
    after last: String,
    except unreadable: Set<ExactText>,
    _ report: inout CheckReport
  ) throws -> [String] {
    return try connection.snapshot {
      let check = try UserCheck(states: tables, defaults: defaults, connection: .sqlite(connection))
      let ids = try connection.all("SELECT id FROM users WHERE id > ? ORDER BY id LIMIT 100", last) { row in
        try row[0] as String
      }
      for id in ids where !unreadable.contains(id.exact) {
        guard let user = UserID(id) else {
          report.add(.users, "“\(id)” is not a user id")
          continue
        }
        try guarding(.users, of: id, &report) { report in try check.check(user, &report) }
      }
      return ids
    }
  }

  /// Runs `body`. If it throws an error that means damage, adds a finding instead.
  private func guarding(
    _ area: CheckReport.Area,
    of user: String? = nil,
    _ report: inout CheckReport,
    _ body: (inout CheckReport) throws -> Void
  ) throws {
    let place = user.map { "user \($0): " } ?? ""
    do {
      try body(&report)
    } catch let error as SQLiteError where [.corrupt, .mismatch, .notADatabase].contains(error.kind) {
      report.add(area, "\(place)\(error.message)")
    } catch let error as ElementDamagedError {
      report.add(.texts, error.finding)
    } catch let error as SnapshotDamagedError {
      report.add(area, "\(place)the snapshot of \(error.collection) at revision \(error.revision) cannot be read")
    }
  }
}
