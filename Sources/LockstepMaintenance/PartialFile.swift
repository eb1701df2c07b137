import Glibc
import LockstepStore

/// An incomplete file that gets its real name when it is complete: `<target>.partial`.
///
/// A lock (`flock`), which ends with the process, admits one writer at a time. An incomplete file
/// without a lock was left by a process that was killed. It is replaced.
package final class PartialFile {
  static let suffix = ".partial"
  /// Files that SQLite may leave beside a database. They must not lie beside a different database
  /// of the same name.
  static let companions = ["-wal", "-shm", "-journal"]

  let path: String
  private let target: String
  /// For the lock and `fsync`. Closing the descriptor releases SQLite's locks on the file, but no
  /// other process opens a partial file.
  private let descriptor: Int32
  private var isPublished = false

  /// Creates the file, empty and only for its owner. Throws `MaintenanceError.beingMade` if another
  /// process is writing it.
  init(target: String) throws(MaintenanceError) {
    self.target = target
    path = target + Self.suffix
    descriptor = try Self.openLocked(path, target: target)
    Self.removeCompanions(of: path)
  }

  deinit {
    if !isPublished {
      unlink(path)
      Self.removeCompanions(of: path)
    }
    close(descriptor)
  }

  /// Returns when everything written so far is on disk.
  func sync() throws(MaintenanceError) {
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: path, reason: errno) }
  }

  /// Gives the file the owner of the target or of its folder, if the process may do that. Without
  /// this, the server could not open a store that root has restored.
  func takeOwner() {
    var before = stat()
    guard stat(target, &before) == 0 || stat(StorePath.folder(of: target), &before) == 0 else { return }
    _ = fchown(descriptor, before.st_uid, before.st_gid)
  }

  /// Renames the file to the target, and returns when that is on disk. Call it once, after all
  /// writers are closed.
  func publish() throws(MaintenanceError) {
    try sync()
    guard rename(path, target) == 0 else { throw .cannotMake(path: target, reason: errno) }
    isPublished = true
    try Self.syncFolder(of: target)
  }

  private static func openLocked(_ path: String, target: String) throws(MaintenanceError) -> Int32 {
    while true {
      // Always creates a new file, because the owner of an existing file could read everything that
      // is written to it.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor < 0, errno == EEXIST {
        try removeLeftBehind(path, target: target)
        continue
      }
      guard descriptor >= 0 else { throw .cannotMake(path: path, reason: errno) }
      try lock(descriptor, path, target: target)
      // Between the two calls, another process may have removed the file as left behind.
      if FileIdentity(descriptor: descriptor) == FileIdentity(path: path), fchmod(descriptor, 0o600) == 0 {
        return descriptor
      }
      close(descriptor)
    }
  }

  /// Removes the partial file of a process that was killed. Throws if a process is writing it.
  static func removeLeftBehind(_ path: String, target: String) throws(MaintenanceError) {
    guard StorePath.isFileItself(path) || !StorePath.isTaken(path) else { throw .notAFile(path: path) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw .cannotMake(path: path, reason: errno)
    }
    try lock(descriptor, path, target: target)
    defer { close(descriptor) }
    // The writer may have renamed the file between the calls. Then the name belongs to another
    // file, or to none.
    guard FileIdentity(descriptor: descriptor) == FileIdentity(path: path) else { return }
    guard unlink(path) == 0 else { throw .cannotMake(path: path, reason: errno) }
    removeCompanions(of: path)
  }

  /// Throws if another process has the lock, and closes the file.
  private static func lock(_ descriptor: Int32, _ path: String, target: String) throws(MaintenanceError) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let reason = errno
    close(descriptor)
    throw reason == EWOULDBLOCK ? .beingMade(path: target) : .cannotMake(path: path, reason: reason)
  }

  package static func removeCompanions(of path: String) {
    for suffix in companions { unlink(path + suffix) }
  }

  /// Returns when the names in the file's folder are on disk.
  static func syncFolder(of path: String) throws(MaintenanceError) {
    let folder = StorePath.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .cannotMake(path: folder, reason: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: folder, reason: errno) }
  }
}
