import Glibc

/// How much a store takes on its disk, and how much is left there.
package struct StoreSize: Sendable, Equatable {
  /// The database's file.
  package var bytes = 0
  /// Its write-ahead log.
  package var logBytes = 0
  /// What the server's user may still write there; nil where the system can't say.
  package var freeBytes: Int?

  /// Asks the system, which answers from memory. A file that isn't there has no bytes.
  package init(ofStoreAt path: String) {
    bytes = Self.size(path)
    logBytes = Self.size(path + "-wal")
    var disk = statvfs()
    if statvfs(path, &disk) == 0 {
      freeBytes = Int(clamping: disk.f_bavail.multipliedReportingOverflow(by: disk.f_frsize).0)
    }
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
