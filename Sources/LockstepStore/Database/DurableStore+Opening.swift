import Glibc
import LockstepSQLite
import LockstepThreading

extension DurableStore {
  /// Writes a unit and blocks until it is on disk. For what a server needs before it serves.
  package func write<Value: Sendable>(_ unit: @escaping @Sendable (SQLiteConnection) throws -> Value) throws -> Value {
    let outcome = LockedState<Result<Value, any Error>?>(nil)
    try writer.submit(unit) { result in
      outcome.withLock { $0 = result }
      outcome.wakeAll()
    }
    return try outcome.wait { $0 }.get()
  }

  /// Throws if the WAL is there without its store. SQLite would take the empty file for a new database and delete the WAL. A
  /// Lockstep store never has a WAL before it has contents.
  static func expectNoOrphanedWAL(of path: String) throws(StoreError) {
    // A single byte is SQLite's mark of an empty file.
    if fileSize(path) <= 1, fileSize(walPath(of: path)) > 0 { throw .onlyWAL(path: path) }
  }

  /// Throws if the file does not end with a whole page: it was truncated, and SQLite would read zeros for the missing bytes.
  /// Only a WAL, which contains the page, can repair that.
  static func expectWholePages(of connection: SQLiteConnection) throws {
    let path = connection.resolvedPath
    let size = fileSize(path)
    guard size > 1, fileSize(path + "-wal") == 0 else { return }
    let page = try connection.first("PRAGMA page_size") { row in try row[0] as Int } ?? 1
    guard size % max(1, page) != 0 else { return }
    throw StoreError.inconsistent(path: path, what: "its file ends in the midst of a page, as one that was cut off")
  }

  /// SQLite looks for the WAL beside the file itself, not beside a link to it.
  private static func walPath(of path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path + "-wal" }
    defer { free(resolved) }
    // `realpath` returns a terminated string that the caller must free.
    return String(cString: resolved) + "-wal"
  }
}
