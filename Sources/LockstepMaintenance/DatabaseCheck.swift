import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepPostgreSQL
import LockstepStore
import LockstepSync

/// Checks a whole store in PostgreSQL for damage, even while servers use it, and changes nothing.
///
/// All parts but the first, which compares the schema, read one snapshot. While the check runs,
/// PostgreSQL cannot remove rows that were deleted or replaced since it began.
package struct DatabaseCheck: Sendable {
  private let database: StoreDatabase
  private let tables: ModuleTables
  private let defaults: DefaultsQuota

  /// Connects to the database. Throws if its schema is not the one of this program.
  package init(
    of connectionString: String,
    favorites: CollectionQuota = .init(),
    defaults: DefaultsQuota = .init(),
    modules: [UserModule] = []
  ) throws {
    self.init(
      of: try StoreDatabase(withCurrentSchema: connectionString, migrator: Migrator(modules: modules)),
      favorites: favorites,
      defaults: defaults,
      modules: modules
    )
  }

  init(
    of database: StoreDatabase,
    favorites: CollectionQuota = .init(),
    defaults: DefaultsQuota = .init(),
    modules: [UserModule] = []
  ) {
    self.database = database
    tables = ModuleTables(ofStoreWith: modules, favorites: favorites, defaults: defaults)
    self.defaults = defaults
  }

  /// Checks the store on this thread.
  package func run(progress: (_ users: Int, _ ofUsers: Int) -> Void = { _, _ in }) throws -> CheckReport {
    var report = CheckReport(database: database.name, schema: database.schema, knownSchema: database.knownSchema)
    report.bytes = try database.read { try DatabaseAudit($0, limit: 1).size() }
    let faults = try database.schemaFaults()
    report.isSchemaCompared = faults != nil
    for fault in try faults ?? database.replacedTables() { report.add(.schema, fault) }
    guard report.counts[.schema] == nil else { return report }
    let compared = report
    // If the connection is lost, the check begins again on another snapshot.
    return try database.read { connection in
      var report = compared
      try check(connection, &report, progress)
      return report
    }
  }

  private func check(
    _ connection: StoreConnection,
    _ report: inout CheckReport,
    _ progress: (Int, Int) -> Void
  ) throws {
    let audit = DatabaseAudit(connection, limit: StoreCheck.listed + 1)
    report.identity = try connection.storeID()
    for fault in try audit.references() { report.add(.references, fault) }
    for fault in try audit.identity() { report.add(.identity, fault) }
    for fault in try audit.journal() { report.add(.users, fault) }
    try audit.forEachRegisteredDefault { place, text in
      if !Self.isJSON(text.utf8) { report.add(.texts, "\(place) is not valid JSON") }
    }
    try tables.readDeclared(from: connection)
    let modules = try audit.modules()
    let deleted = try DeclaredCollectionsTable().load(from: connection).deleted
    report.users = try audit.users()
    var (page, done) = (try audit.users(after: nil), 0)
    while !page.ids.isEmpty {
      for fault in try audit.contradictions(of: page) { report.add(.users, fault) }
      for fault in try audit.strayCollections(
        of: page,
        kind: { kind(of: $0, modules) },
        isDeleted: { deleted.contains($0.exact) || RemovalRecords.isRetired($0) }
      ) { report.add(.users, fault) }
      for id in page.ids {
        guard let user = UserID(id) else {
          report.add(.users, "“\(id)” is not a user id")
          continue
        }
        try check(user, connection, &report)
      }
      done += page.ids.count
      progress(done, report.users)
      page = try audit.users(after: page)
    }
  }

  private func check(_ user: UserID, _ connection: StoreConnection, _ report: inout CheckReport) throws {
    do {
      // The state of a user with such a text cannot be rebuilt.
      guard try haveJSON(textsOf: user, connection, &report) else { return }
      try UserCheck(states: tables, defaults: defaults, connection: connection).check(user, &report)
    } catch let error as PostgreSQLError where error.kind == .mismatch {
      report.add(.users, "user \(user): \(error.message)")
    } catch let error as ElementDamagedError {
      report.add(.texts, error.finding)
    } catch let error as ModuleError {
      report.add(.users, "user \(user): \(error)")
    } catch let error as SnapshotDamagedError {
      report.add(
        .users,
        "user \(user): the snapshot of \(error.collection) at revision \(error.revision) cannot be read"
      )
    }
  }

  /// Reports the user's texts that are not JSON. Returns false if there are some.
  private func haveJSON(
    textsOf user: UserID,
    _ connection: StoreConnection,
    _ report: inout CheckReport
  ) throws -> Bool {
    var isDamaged = false
    try DatabaseAudit(connection, limit: 1).forEachText(of: user) { place, text in
      if Self.isJSON(text.utf8) { return }
      report.add(.texts, "\(place) is not valid JSON")
      isDamaged = true
    }
    let end = Revision(rawValue: .max)
    try Journal(connection: connection).forEachEntry(of: user, after: .init(endOf: .none), upTo: end) { entry in
      // A text that is not JSON is read as this.
      guard entry.action == "null" || entry.mutations == "null" else { return true }
      report.add(.texts, "journal: an entry of user \(user) at revision \(entry.revision.number) is not valid JSON")
      isDamaged = true
      return false
    }
    return !isDamaged
  }

  /// The kind of a module of the store: one of Lockstep's own, or one in the table `modules`.
  private func kind(of module: String, _ served: [ExactText: CollectionMutation.Kind]) -> CollectionMutation.Kind? {
    Self.builtIn[module]?.reducer.kind ?? tables[module]?.reducer.kind ?? served[module.exact]
  }

  private static let builtIn = ModuleTables(ofStoreWith: [])

  private static func isJSON(_ text: some Sequence<UInt8>) -> Bool {
    (try? JSON(parsing: Array(text), maximumDepth: JSON.highestDepth)) != nil
  }
}
