import LockstepJSON
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore

/// Copies a store as it is at one moment, while a server of this or another process uses it.
///
/// The backup is one file that only its owner can read. It gets its final name after all of it is
/// on disk and SQLite has checked every page. So a file with that name is always complete.
package struct StoreBackup: Sendable {
  /// How many pages are copied between two pauses: 1 MiB of 4-KiB pages.
  static let stepPages = 256
  /// How many bytes are copied between two syncs. A single sync at the end would delay the server's
  /// commits.
  static let syncBytes = 8 * 1024 * 1024

  let store: String
  var throttle: CopyThrottle
  var migrator = Migrator()

  package init(of store: String, throttle: CopyThrottle) {
    self.store = store
    self.throttle = throttle
  }

  /// Makes the backup on this thread and returns its size in bytes.
  ///
  /// With `overwriting`, the complete backup replaces an existing regular file in one step. If this
  /// throws before the rename, it leaves no new file, and an existing file stays. Only the sync of
  /// the folder comes after the rename.
  @discardableResult
  package func write(
    to path: String,
    overwriting: Bool = false,
    progress: (CopyProgress) -> Void = { _ in }
  ) throws -> Int {
    try StorePath.expectFile(store)
    try expectPlace(path, overwriting)
    if StorePath.resolved(path)?.exact == StorePath.resolved(store)?.exact {
      throw MaintenanceError.sameFile(path: store)
    }
    let file = try PartialFile(target: path)
    let bytes = try copy(to: file, progress)
    // Checks again, because another process may have created the file meanwhile.
    try expectPlace(path, overwriting)
    try file.publish()
    return bytes
  }

  /// Throws if something that must not be replaced has this path.
  private func expectPlace(_ path: String, _ overwriting: Bool) throws(MaintenanceError) {
    guard StorePath.isTaken(path) else { return }
    guard overwriting else { throw .exists(path: path) }
    guard StorePath.isFileItself(path) else { throw .notAFile(path: path) }
  }

  private func copy(to file: PartialFile, _ progress: (CopyProgress) -> Void) throws -> Int {
    let source = try StorePath.openForReading(store)
    try migrator.examine(source)
    let copy = try SQLiteConnection(storeAt: file.path, journal: .asFound)
    // After a failure, nothing is rolled back: the whole file is deleted.
    try copy.execute("PRAGMA journal_mode = MEMORY")
    let start = throttle.elapsed()
    var synced = 0
    var bytes = 0
    try source.copy(to: copy, stepPages: Self.stepPages) { step in
      bytes = step.bytes
      progress(step)
      if step.copiedBytes - synced >= Self.syncBytes {
        try file.sync()
        synced = step.copiedBytes
      }
      try throttle.keep(since: start, bytes: step.copiedBytes)
    }
    try copy.leaveWriteAheadLog()
    if let fault = try copy.damage(thoroughly: false).first { throw MaintenanceError.damaged(path: store, what: fault) }
    return bytes
  }
}
