import Glibc
import LockstepCollections
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore

/// Replaces a store with a backup.
///
/// The backup is copied and checked first. The copy then replaces the store's file in one step. The
/// copy has a new identity, so clients with earlier cursors get a reset. Otherwise they would keep
/// changes that the restored store does not contain.
package struct StoreRestore: Sendable {
  package struct Summary: Sendable, Equatable {
    package let bytes: Int
    package let identity: String
    package let users: Int
  }

  private let store: String
  private let migrator: Migrator
  private let modules: [UserModule]

  package init(to store: String, modules: [UserModule] = []) {
    self.store = store
    self.modules = modules
    migrator = Migrator(modules: modules)
  }

  /// Restores on this thread. If this throws before the rename, the store has its old contents.
  /// Only the sync of the folder comes after the rename.
  ///
  /// A server may use the backup at the same time, but not the store. Without `endingSessions`,
  /// sessions that ended after the backup was made are valid again, and so are service tokens that
  /// were deleted. With it, no session and no service token stays.
  package func restore(
    from backup: String,
    overwriting: Bool = false,
    endingSessions: Bool = false,
    random: some RandomNumberGenerator = SystemRandomNumberGenerator(),
    progress: (CopyProgress) -> Void = { _ in }
  ) throws -> Summary {
    try StorePath.expectFile(backup)
    guard let place = StorePath.resolved(store) else { throw MaintenanceError.cannotMake(path: store, reason: ENOENT) }
    if StorePath.resolved(backup) == place { throw MaintenanceError.sameFile(path: store) }
    // Holds the lock to the end, so that no server opens the file that is being replaced.
    let lock = try StoreLock(store: place)
    defer { withExtendedLifetime(lock) {} }
    if StorePath.isTaken(place) {
      guard overwriting else { throw MaintenanceError.exists(path: store) }
      guard StorePath.isFile(place) else { throw StoreError.notAFile(path: store) }
    }
    let file = try PartialFile(target: place)
    let summary = try copy(backup, to: file, endingSessions, identity: DurableStore.identity(from: random), progress)
    file.takeOwner()
    try file.sync()
    try clearPlace(place)
    try file.publish()
    return summary
  }

  private func copy(
    _ backup: String,
    to file: PartialFile,
    _ endingSessions: Bool,
    identity: String,
    _ progress: (CopyProgress) -> Void
  ) throws -> Summary {
    let source = try StorePath.openForReading(backup)
    try migrator.examine(source)
    let copy = try SQLiteConnection(storeAt: file.path, journal: .asFound)
    var bytes = 0
    try source.copy(to: copy) { step in
      bytes = step.bytes
      progress(step)
    }
    try copy.leaveWriteAheadLog()
    let report = try StoreCheck(of: backup, modules: modules).run(on: copy)
    if let fault = report.findings.first(where: { $0.area != .quotas }) {
      throw MaintenanceError.damaged(path: backup, what: fault.what)
    }
    // The check leaves this out for a store with an older schema.
    if let fault = try copy.identityFaults().first { throw MaintenanceError.damaged(path: backup, what: fault) }
    // SQLite must overwrite deleted data, as it does in a server.
    try copy.execute("PRAGMA secure_delete = ON")
    let users = try copy.transaction {
      try copy.run("UPDATE store SET id = ?, checked_at = NULL", identity)
      if endingSessions {
        try copy.run("DELETE FROM sessions")
        // A backup with an older schema has no service tokens.
        let table = try copy.first("SELECT 1 FROM sqlite_schema WHERE name = 'service_tokens'") { _ in true }
        if table != nil { try copy.run("DELETE FROM service_tokens") }
      }
      return try copy.first("SELECT count(*) FROM users") { row in try row[0] as Int } ?? 0
    }
    return Summary(bytes: bytes, identity: identity, users: users)
  }

  /// Removes the old store's WAL. Otherwise SQLite would use it as the new store's WAL.
  ///
  /// A checkpoint comes first, so that the old store is complete until the copy replaces it. The
  /// old store stays in WAL mode: leaving that mode would create a rollback journal. If this
  /// process was then killed, a read-only connection could not open the store.
  ///
  /// Throws `StoreError.inUse` if another program prevents the checkpoint.
  func clearPlace(_ place: String) throws(StoreError) {
    // Ignores errors: a damaged file, or one that is not a database, has nothing to checkpoint.
    if StorePath.isTaken(place),
      let old = try? SQLiteConnection(storeAt: place, journal: .asFound, busyTimeout: .zero),
      let isComplete = try? old.truncateWAL(), !isComplete, fileSize(place + "-wal") > 0
    {
      throw .inUse(path: place)
    }
    PartialFile.removeCompanions(of: place)
  }
}
