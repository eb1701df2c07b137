import Glibc

/// The identity of a file. Two paths with equal identities lead to the same file.
package struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let number: ino_t

  /// The file at this path; nil if there is none.
  package init?(path: String) {
    self.init { stat(path, &$0) }
  }

  /// The file behind an open descriptor.
  package init?(descriptor: Int32) {
    self.init { fstat(descriptor, &$0) }
  }

  private init?(_ read: (inout stat) -> Int32) {
    var status = stat()
    guard read(&status) == 0 else { return nil }
    device = status.st_dev
    number = status.st_ino
  }
}

/// The size of a file in bytes; 0 if there is none.
package func fileSize(_ path: String) -> Int {
  var status = stat()
  return stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// Whether the last page of a database file is incomplete, by the page size in the file's header.
///
/// Call it only if this process has no connection to the file: closing the descriptor releases the
/// locks of such a connection.
func endsWithinPage(_ path: String) -> Bool {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var digits: (UInt8, UInt8) = (0, 0)
  // The size is big-endian, at offset 16; 1 stands for 65,536.
  guard pread(descriptor, &digits, 2, 16) == 2 else { return false }
  let size = Int(digits.0) << 8 | Int(digits.1)
  return size > 0 && fileSize(path) % (size == 1 ? 65_536 : size) != 0
}

/// The disk space of a store.
package struct StoreSize: Sendable, Equatable {
  /// The size of the database file.
  package let bytes: Int
  /// The size of the WAL.
  package let logBytes: Int
  /// The free space for the server's user; nil if it is unknown.
  package var freeBytes: Int?

  /// The size of a database without a file of its own.
  package init(bytes: Int) { (self.bytes, logBytes) = (bytes, 0) }

  /// Reads no file, because the system has the sizes in memory.
  package init(ofStoreAt path: String) {
    bytes = fileSize(path)
    logBytes = fileSize(path + "-wal")
    var disk = statvfs()
    if statvfs(path, &disk) == 0 {
      freeBytes = Int(clamping: disk.f_bavail.multipliedReportingOverflow(by: disk.f_frsize).0)
    }
  }
}

/// The absolute path of a file, without symbolic links; nil if there is no such file.
package func realPath(_ path: String) -> String? {
  guard let text = realpath(path, nil) else { return nil }
  // `realpath` allocated it for the caller.
  defer { free(text) }
  return String(cString: text)
}
