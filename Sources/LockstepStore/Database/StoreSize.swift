import Glibc

/// The disk space of a store.
package struct StoreSize: Sendable, Equatable {
  /// The size of the database file.
  package var bytes = 0
  /// The size of the WAL.
  package var logBytes = 0
  /// The free space for the server's user; nil if the system does not tell.
  package var freeBytes: Int?

  /// Asks the system, which answers from memory.
  package init(ofStoreAt path: String) {
    bytes = fileSize(path)
    logBytes = fileSize(path + "-wal")
    var disk = statvfs()
    if statvfs(path, &disk) == 0 {
      freeBytes = Int(clamping: disk.f_bavail.multipliedReportingOverflow(by: disk.f_frsize).0)
    }
  }
}
