import Glibc
import LockstepSQLite
import LockstepThreading

extension DurableStore {
  /// Runs a unit of the writer and waits for it: for what a server needs before it serves.
  package func write<Value: Sendable>(_ unit: @escaping @Sendable (SQLiteConnection) throws -> Value) throws -> Value {
    let outcome = LockedState<Result<Value, any Error>?>(nil)
    try writer.submit(unit) { result in
      outcome.withLock { $0 = result }
      outcome.wakeAll()
    }
    return try outcome.wait { $0 }.get()
  }

  /// Throws where there is no store but a log of one: SQLite takes a file without contents for a new database, and deletes
  /// what lies beside it. A store of ours never has a log before it has contents of its own.
  static func expectNoOrphanedLog(of path: String) throws(StoreError) {
    var file = stat()
    // A single byte is SQLite's own mark of an empty file.
    if stat(path, &file) == 0, file.st_size > 1 { return }
    var log = stat()
    if stat(logPath(of: path), &log) == 0, log.st_size > 0 { throw .onlyWAL(path: path) }
  }

  /// Throws where the file ends in the midst of a page: it was cut off, and SQLite would take what's missing for zeros. Only a
  /// log, from which the page will be written anew, makes that right.
  static func expectWholePages(of connection: SQLiteConnection) throws {
    let path = connection.resolvedPath
    var (file, log) = (stat(), stat())
    guard stat(path, &file) == 0, file.st_size > 1, stat(path + "-wal", &log) != 0 || log.st_size == 0 else { return }
    let page = try connection.first("PRAGMA page_size") { row in try row[0] as Int } ?? 1
    guard Int(file.st_size) % max(1, page) != 0 else { return }
    throw StoreError.inconsistent(path: path, what: "its file ends in the midst of a page, as one that was cut off")
  }

  /// Where SQLite looks for the log: beside the file itself, and not beside a link to it.
  private static func logPath(of path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path + "-wal" }
    defer { free(resolved) }
    // What `realpath` gives ends with a zero, and is ours until it's freed.
    return String(cString: resolved) + "-wal"
  }
}
