import LockstepSQLite
import LockstepStore

/// Makes a copy of a store, as it is at one moment, while a server, of this process or another, serves on it.
///
/// The copy is one file for its owner only, which needs nothing beside it and can be restored, or looked at with the `sqlite3`
/// shell. It has its name only once all of it is on disk and SQLite has found every page of it whole: what has the name can
/// be relied on, whatever happens to the process or the disk meanwhile.
///
/// Everybody's password hashes and sessions are in it: it's to be kept as safe as the store.
public struct StoreBackup: Sendable {
  /// How many pages are copied between two pauses: 1 MiB of 4-KiB pages.
  static let stepPages = 256
  /// After how many bytes what was written is brought to the disk. Left to the end it would be brought there all at once,
  /// and the server's own commits would wait behind it.
  static let syncBytes = 8 * 1024 * 1024

  /// The store's file.
  public var store: String
  /// How fast it goes.
  public var pace: CopyThrottle
  /// The schemas that are known.
  var migrator = Migrator()

  /// A backup of the store in this file.
  public init(of store: String, pace: CopyThrottle) {
    self.store = store
    self.pace = pace
  }

  /// Makes the copy, on this thread.
  ///
  /// - Parameters:
  ///   - path: The file that it is to be.
  ///   - overwriting: Whether a file that has the name may be replaced. It is, in one step, when the new one is whole. What is
  ///     no regular file never is.
  ///   - progress: Told how far it is, now and then.
  /// - Returns: How many bytes it has.
  /// - Throws: `MaintenanceError`, `StoreError` where it's no store of ours, `SQLiteError`, and what the pace's pause throws. No
  ///   file is left then, and what had the name before still has it.
  @discardableResult
  public func write(
    to path: String,
    overwriting: Bool = false,
    progress: (CopyProgress) -> Void = { _ in }
  ) throws -> Int {
    guard StorePath.isFile(store) else { throw MaintenanceError.missing(path: store) }
    try expectPlace(path, overwriting)
    if StorePath.resolved(path) == StorePath.resolved(store) { throw MaintenanceError.sameFile(path: store) }
    let file = try PartialFile(target: path)
    let bytes = try copy(to: file, progress)
    // Looked at again: somebody may have made one meanwhile.
    try expectPlace(path, overwriting)
    try file.publish()
    return bytes
  }

  /// Throws where something has the name that isn't to be replaced: it would be gone, a device's file too.
  private func expectPlace(_ path: String, _ overwriting: Bool) throws(MaintenanceError) {
    guard StorePath.isTaken(path) else { return }
    guard overwriting else { throw .exists(path: path) }
    guard StorePath.isFileItself(path) else { throw .notAFile(path: path) }
  }

  private func copy(to file: PartialFile, _ progress: (CopyProgress) -> Void) throws -> Int {
    let source = try SQLiteConnection(path: store, options: .init(access: .readOnly, journal: .asFound))
    try migrator.examine(source)
    let copy = try SQLiteConnection(path: file.path, options: .init(journal: .asFound))
    // There is nothing in it that could be undone.
    try copy.execute("PRAGMA journal_mode = MEMORY")
    let start = pace.elapsed()
    var synced = 0
    var bytes = 0
    try source.copy(to: copy, stepPages: Self.stepPages) { step in
      bytes = step.bytes
      progress(step)
      if step.copiedBytes - synced >= Self.syncBytes {
        try file.sync()
        synced = step.copiedBytes
      }
      try pace.keep(since: start, bytes: step.copiedBytes)
    }
    try copy.leaveWriteAheadLog()
    if let fault = try copy.damage(.pages).first { throw MaintenanceError.damaged(path: store, what: fault) }
    return bytes
  }
}
