import Glibc
import LockstepCollections
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore
import LockstepTime

/// Copies a whole store into another file or database. Cursors and tokens stay valid.
///
/// No server may use one of the stores meanwhile. A copy that was interrupted goes on where it ended. No
/// server can use the target before the copy is complete and was checked.
package struct StoreCopy {
  package struct Outcome: Sendable, Equatable {
    package let source: String
    package let target: String
    package let counts: StoreCopier.Counts
  }

  private let source: StoreLocation
  private let target: StoreLocation
  private let modules: [UserModule]
  private let migrator: Migrator

  package init(from source: StoreLocation, to target: StoreLocation, modules: [UserModule] = []) {
    (self.source, self.target, self.modules) = (source, target, modules)
    migrator = Migrator(modules: modules)
  }

  /// Copies on this thread.
  package func run(
    progress: (StoreCopier.Step, _ users: Int, _ ofUsers: Int) -> Void = { _, _, _ in }
  ) throws -> Outcome {
    let opened = try openSource()
    defer { withExtendedLifetime(opened) {} }
    let side = opened.side
    try migrator.expectModules(of: side)
    let users = try side.userCount()
    let place = try openTarget(for: side)
    do {
      let counts = try StoreCopier(from: side, to: place.side).run { progress($0, $1, users) }
      try place.finish(modules)
      return Outcome(source: side.name, target: place.name, counts: counts)
    } catch let error as StoreCopier.ServedError {
      throw StoreError.inUse(path: error.name)
    } catch let error as StoreCopier.DifferenceError {
      throw MaintenanceError.incompleteCopy(
        name: place.name,
        what: "its rows of the table \(error.table) differ from those of \(side.name)"
      )
    } catch CopyError.unreadable(let table) {
      throw MaintenanceError.damaged(path: side.name, what: "a row of the table \(table) cannot be read")
    }
  }

  // MARK: The source

  private struct Source {
    let side: any CopySide
    /// Until this is released, no server can use the file.
    var lock: StoreLock?
  }

  private func openSource() throws -> Source {
    switch source {
    case .file(let path):
      guard StorePath.isFile(path), let place = StorePath.resolved(path) else {
        throw MaintenanceError.missingSource(path: path)
      }
      if case .file(let other) = target, StorePath.resolved(other) == place {
        throw MaintenanceError.ownCopy(name: path)
      }
      let lock = try StoreLock(store: place)
      let connection = try StorePath.openForReading(path)
      try connection.snapshot { try migrator.expectCurrentSchema(of: connection, path: path) }
      return Source(side: SQLiteCopySide(connection, name: path), lock: lock)
    case .database(let string):
      let database = try openDatabase(string)
      let side = try PostgreSQLCopySide(database)
      if try side.isServed() { throw StoreError.inUse(path: side.name) }
      return Source(side: side)
    }
  }

  private func openDatabase(_ connectionString: String) throws -> StoreDatabase {
    do {
      return try StoreDatabase(withCurrentSchema: connectionString, migrator: migrator)
    } catch MaintenanceError.emptyDatabase(let name) {
      throw MaintenanceError.emptySource(name: name)
    }
  }

  private func openTarget(for source: any CopySide) throws -> any CopyTarget {
    switch target {
    case .file(let path): return try FileCopyTarget(path, source: source, migrator)
    case .database(let string): return try DatabaseCopyTarget(string, source: source, migrator)
    }
  }
}

/// The place of a copy.
private protocol CopyTarget {
  /// The place in messages.
  var name: String { get }
  var side: any CopySide { get }

  /// Checks the copy, and lets servers use it.
  func finish(_ modules: [UserModule]) throws
}

extension CopyTarget {
  /// Throws if the check of the copy has found damage.
  func expectNoDamage(_ report: CheckReport) throws {
    guard let fault = report.findings.first(where: { $0.area != .quotas }) else { return }
    throw MaintenanceError.incompleteCopy(name: name, what: fault.what)
  }
}

/// A copy into a file. Until it is complete, the file has the name `<file>.partial`.
private final class FileCopyTarget: CopyTarget {
  let name: String
  var side: any CopySide { rows }
  private let rows: SQLiteCopySide
  private let connection: SQLiteConnection
  private let place: String
  private let partial: String
  /// Until these are released, no server can use the files.
  private let locks: [StoreLock]

  init(_ path: String, source: any CopySide, _ migrator: Migrator) throws {
    name = path
    guard let place = StorePath.resolved(path) else { throw MaintenanceError.cannotMake(path: path, reason: ENOENT) }
    self.place = place
    partial = place + PartialFile.suffix
    let lock = try StoreLock(store: place)
    if StorePath.isTaken(place) {
      guard StorePath.isFile(place) else { throw StoreError.notAFile(path: path) }
      if fileSize(place) > 0 {
        let present = try SQLiteConnection(storeAt: place, access: .readOnly, journal: .asFound)
        try migrator.expectCurrentSchema(of: present, path: path)
        if try SQLiteCopySide(present, name: path).hasContents() { throw MaintenanceError.notEmpty(name: path) }
      }
    }
    // Makes or migrates the store. No part of another store is changed.
    if StorePath.isTaken(partial), !StorePath.isFileItself(partial) { throw MaintenanceError.notAFile(path: partial) }
    try DurableStore(path: partial, migrator: migrator).close()
    locks = [lock, try StoreLock(store: partial)]
    connection = try SQLiteConnection(storeAt: partial, journal: .asFound)
    // A crash of the system loses the last transactions at most, and the next run repeats them.
    try connection.execute(
      "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -131072; PRAGMA wal_autocheckpoint = 16384"
    )
    rows = SQLiteCopySide(connection, name: partial)
    if try rows.hasContents(), try rows.identity().id != source.identity().id {
      throw MaintenanceError.otherCopy(name: partial)
    }
  }

  func finish(_ modules: [UserModule]) throws {
    try rows.createViews()
    try expectNoDamage(StoreCheck(of: partial, modules: modules).run(on: connection))
    try connection.leaveWriteAheadLog()
    let descriptor = open(partial, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw MaintenanceError.cannotMake(path: partial, reason: errno) }
    defer { close(descriptor) }
    PartialFile.takeOwner(descriptor, of: place)
    guard fsync(descriptor) == 0 else { throw MaintenanceError.cannotMake(path: partial, reason: errno) }
    // An empty store may be here.
    try StoreRestore(to: place).clearPlace(place)
    guard rename(partial, place) == 0 else { throw MaintenanceError.cannotMake(path: place, reason: errno) }
    try PartialFile.syncFolder(of: place)
  }
}

/// A copy into a database, which is marked until the copy is complete.
private final class DatabaseCopyTarget: CopyTarget {
  let name: String
  var side: any CopySide { rows }
  private let rows: PostgreSQLCopySide
  private let database: StoreDatabase

  init(_ connectionString: String, source: any CopySide, _ migrator: Migrator) throws {
    database = try StoreDatabase(connectionString, migrator: migrator, allowsUnfinishedCopy: true)
    name = database.name
    guard database.schema == 0 || database.schema == database.knownSchema else {
      throw MaintenanceError.olderSchema(path: name, found: database.schema, known: database.knownSchema)
    }
    if database.schema == 0 { _ = try database.migrate(at: TimeSource.system.millisecondsSince1970()) }
    rows = try PostgreSQLCopySide(database)
    if try rows.isServed() { throw StoreError.inUse(path: name) }
    switch try rows.mark(source.identity().id) {
    case .isMarked: break
    case .isOfAnotherSource: throw MaintenanceError.otherCopy(name: name)
    case .hasContents: throw MaintenanceError.notEmpty(name: name)
    }
  }

  func finish(_ modules: [UserModule]) throws {
    try rows.analyze()
    try expectNoDamage(DatabaseCheck(of: database, modules: modules).run())
    try rows.removeMark()
  }
}
