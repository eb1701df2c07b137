import Glibc
import LockstepCollections
import LockstepSQLite
import LockstepStore

/// Puts a backup in the place of a store.
///
/// The backup is copied and looked at first, as a whole; the store's own file is replaced in one step, once the copy is whole and on
/// disk. The copy gets an identity of its own, so that every cursor of the store that it was made of, whatever came after the
/// backup, is answered with a reset: no client takes what is gone for what is there.
public struct StoreRestore: Sendable {
  /// What was restored.
  public struct Summary: Sendable, Equatable {
    /// How large the store is, in bytes.
    public let bytes: Int
    /// Its new identity.
    public let identity: String
    /// How many users it has.
    public let users: Int
  }

  /// The store's file.
  public var store: String
  /// The schemas that are known.
  private let migrator: Migrator

  /// A restore over, or to, this file; `modules` is what its server keeps for users besides favorites, defaults and profiles.
  public init(to store: String, modules: [UserModule] = []) {
    self.store = store
    migrator = Migrator(of: modules)
  }

  /// Restores, on this thread.
  ///
  /// - Parameters:
  ///   - backup: The backup's file, or any store, a served one too.
  ///   - overwriting: Whether a store that is there may be replaced.
  ///   - endingSessions: Whether everybody has to log in again. Sessions that ended after the backup was made are alive
  ///     again otherwise.
  ///   - random: Where the identity comes from: it must not repeat itself.
  ///   - progress: Told how far it is, now and then.
  /// - Returns: What was restored.
  /// - Throws: `MaintenanceError`; `StoreError.inUse` while a server uses the store, whatever may be overwritten, and others where
  ///   the backup is no store that this program knows; `SQLiteError`. The store is as it was then.
  public func restore(
    from backup: String,
    overwriting: Bool = false,
    endingSessions: Bool = false,
    random: some RandomNumberGenerator = SystemRandomNumberGenerator(),
    progress: (CopyProgress) -> Void = { _ in }
  ) throws -> Summary {
    guard StorePath.isFile(backup) else { throw MaintenanceError.missing(path: backup) }
    guard let place = StorePath.resolved(store) else { throw MaintenanceError.cannotMake(path: store, reason: ENOENT) }
    if StorePath.resolved(backup) == place { throw MaintenanceError.sameFile(path: store) }
    // Held to the end: no server may begin to use what is about to be replaced.
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
    clearPlace(place)
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
    let source = try SQLiteConnection(path: backup, options: .init(access: .readOnly, journal: .asFound))
    try migrator.examine(source)
    let copy = try SQLiteConnection(path: file.path, options: .init(journal: .asFound))
    var bytes = 0
    try source.copy(to: copy) { step in
      bytes = step.bytes
      progress(step)
    }
    try copy.leaveWriteAheadLog()
    // The copy, and not the backup: what is looked at is what will be served.
    if let fault = try copy.damage(.everything).first { throw MaintenanceError.damaged(path: backup, what: fault) }
    // Before anything that a schema could make go wrong.
    if let fault = try migrator.schemaFaults(of: copy).first {
      throw MaintenanceError.damaged(path: backup, what: fault)
    }
    if let missing = try copy.missingReferences(limit: 1).first {
      throw MaintenanceError.damaged(
        path: backup,
        what: "a row of \(missing.table) refers to one of \(missing.parent) that isn't there"
      )
    }
    if let fault = try copy.identityFaults().first { throw MaintenanceError.damaged(path: backup, what: fault) }
    // What is deleted is overwritten, as the server does it.
    try copy.execute("PRAGMA secure_delete = ON")
    let users = try copy.transaction {
      try copy.run("UPDATE store SET id = ?, checked_at = NULL", identity)
      if endingSessions { try copy.run("DELETE FROM sessions") }
      return try copy.first("SELECT count(*) FROM users") { row in try row[0] as Int } ?? 0
    }
    return Summary(bytes: bytes, identity: identity, users: users)
  }

  /// Sees to it that the old store's log doesn't lie beside the new store's file, where SQLite would take it for the new one's.
  ///
  /// The log is folded into the old file before it goes, as far as that can still be done, so that the old store is whole
  /// until the new one has its name, whatever happens in between. It stays a store with a log: to make it one without would take
  /// a journal, which who only reads can't undo when it's left behind.
  func clearPlace(_ place: String) {
    if StorePath.isTaken(place) {
      // A file that can't be opened, because it's damaged or something else, has nothing to fold.
      if let old = try? SQLiteConnection(path: place, options: .init(journal: .asFound, busyTimeout: .zero)) {
        _ = try? old.emptyLog()
      }
    }
    PartialFile.removeCompanions(of: place)
  }
}
