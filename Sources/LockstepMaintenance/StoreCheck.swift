import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepSync

/// Looks through a whole store for what shouldn't be so, beside whoever serves on it, and changes nothing.
///
/// Each part is of one moment: the file as a whole, and each user. While the file is looked at, the store's log can't start
/// from its beginning again, and grows by what is written.
public struct StoreCheck: Sendable {
  /// How far a check is.
  public struct Progress: Sendable {
    /// Users whose state was rebuilt.
    public let users: Int
    /// All of them.
    public let ofUsers: Int
  }

  /// How many findings of one kind are listed.
  static let listed = 100

  /// The store's file.
  public var store: String
  /// How much a user may have of favorites.
  public var favorites: FavoritesQuota
  /// How much a user may have of defaults.
  public var defaults: DefaultsQuota
  private let modules: [UserModule]
  private let migrator: Migrator

  /// A check of the store in this file, against these quotas; `modules` is what its server keeps for users besides favorites,
  /// defaults and profiles.
  public init(
    of store: String,
    favorites: FavoritesQuota = .init(),
    defaults: DefaultsQuota = .init(),
    modules: [UserModule] = []
  ) {
    self.store = store
    self.modules = modules
    migrator = Migrator(of: modules)
    self.favorites = favorites
    self.defaults = defaults
  }

  /// Looks through it, on this thread.
  ///
  /// - Parameter progress: Told how far it is, now and then.
  /// - Returns: what was found.
  /// - Throws: `MaintenanceError` and `StoreError` where there is no store that this program knows, or nothing of it can be read.
  public func run(progress: (Progress) -> Void = { _ in }) throws -> CheckReport {
    guard StorePath.isFile(store) else { throw MaintenanceError.missing(path: store) }
    let connection = try SQLiteConnection(path: store, options: .init(access: .readOnly, journal: .asFound))
    var report = try connection.snapshot {
      var report = CheckReport(store: store, schema: try migrator.examine(connection), knownSchema: migrator.last)
      try lookAtFile(connection, &report)
      try lookAtSchema(connection, &report)
      if report.counts[.schema] == nil { try lookAtReferences(connection, &report) }
      return report
    }
    guard report.isWhole, report.counts[.schema] == nil else { return report }
    let unreadable = try connection.snapshot {
      try lookAtIdentity(connection, &report)
      return try lookAtTexts(connection, &report)
    }
    try lookAtUsers(connection, except: unreadable, &report, progress)
    return report
  }

  private func lookAtFile(_ connection: SQLiteConnection, _ report: inout CheckReport) throws {
    report.pages = try connection.first("PRAGMA page_count") { row in try row[0] as Int } ?? 0
    report.pageSize = try connection.first("PRAGMA page_size") { row in try row[0] as Int } ?? 0
    for words in try connection.damage(.everything) { report.add(.file, words) }
  }

  private func lookAtReferences(_ connection: SQLiteConnection, _ report: inout CheckReport) throws {
    try guarding(.references, &report) { report in
      for missing in try connection.missingReferences(limit: Self.listed) {
        let row = missing.row.map { " \($0)" } ?? ""
        report.add(.references, "row\(row) of \(missing.table) refers to one of \(missing.parent) that isn't there")
      }
    }
  }

  private func lookAtSchema(_ connection: SQLiteConnection, _ report: inout CheckReport) throws {
    try guarding(.schema, &report) { report in
      for fault in try migrator.schemaFaults(of: connection) { report.add(.schema, fault) }
    }
  }

  private func lookAtIdentity(_ connection: SQLiteConnection, _ report: inout CheckReport) throws {
    try guarding(.identity, &report) { report in
      report.identity = try connection.first("SELECT id FROM store") { row in try row[0] as String }
      for fault in try connection.identityFaults() { report.add(.identity, fault) }
    }
  }

  /// Whose JSON can't be read: nothing can be rebuilt of it.
  private func lookAtTexts(_ connection: SQLiteConnection, _ report: inout CheckReport) throws -> Set<String> {
    var users: Set<String> = []
    for (table, sql) in Self.texts {
      try guarding(.texts, &report) { report in
        try connection.forEach(sql) { row in
          let user: String = try row[0]
          users.insert(user)
          report.add(.texts, "\(table): a text of user \(user) is no JSON")
        }
      }
    }
    return users
  }

  private static let texts: [(table: String, sql: StaticString)] = [
    ("journal", "SELECT user_id FROM journal WHERE NOT json_valid(action) OR NOT json_valid(mutations)"),
    ("favorites", "SELECT user_id FROM favorites WHERE data IS NOT NULL AND NOT json_valid(data)"),
    ("defaults", "SELECT user_id FROM defaults WHERE NOT json_valid(value)"),
    ("profiles", "SELECT user_id FROM profiles WHERE NOT json_valid(value)"),
    ("snapshots", "SELECT user_id FROM snapshots WHERE NOT json_valid(state)"),
    ("registered_defaults", "SELECT suite FROM registered_defaults WHERE value IS NOT NULL AND NOT json_valid(value)"),
  ]

  private func lookAtUsers(
    _ connection: SQLiteConnection,
    except unreadable: Set<String>,
    _ report: inout CheckReport,
    _ progress: (Progress) -> Void
  ) throws {
    try guarding(.users, &report) { report in
      let count = try connection.first("SELECT count(*) FROM users") { row in try row[0] as Int } ?? 0
      report.users = count
      var last = ""
      var done = 0
      while let (end, looked) = try lookAtPage(connection, after: last, except: unreadable, &report) {
        last = end
        done += looked
        progress(Progress(users: done, ofUsers: count))
      }
    }
  }

  /// Looks at the next users, all of one moment. Gives the last one's id and how many there were; nil where there are none.
  private func lookAtPage(
    _ connection: SQLiteConnection,
    after last: String,
    except unreadable: Set<String>,
    _ report: inout CheckReport
  ) throws -> (last: String, count: Int)? {
    let check = UserCheck(
      states: ExportedModules.states(with: modules),
      favorites: favorites,
      defaults: defaults,
      connection: connection
    )
    return try connection.snapshot {
      let ids = try connection.all("SELECT id FROM users WHERE id > ? ORDER BY id LIMIT 100", last) { row in
        try row[0] as String
      }
      for id in ids where !unreadable.contains(id) {
        guard let user = UserID(id) else {
          report.add(.users, "“\(id)” is no id of a user")
          continue
        }
        try guarding(.users, of: id, &report) { report in try check.look(at: user, &report) }
      }
      return ids.last.map { ($0, ids.count) }
    }
  }

  /// Goes on behind what can't be read, with a finding.
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
    } catch let error as SnapshotDamagedError {
      report.add(area, "\(place)the snapshot of \(error.collection) at revision \(error.revision) can't be read")
    }
  }
}
