import Glibc
import LockstepStore

/// A file that has the name `<target>.partial` until it is complete and replaces the target.
///
/// A lock (`flock`) on the file allows one process at a time to write it, and ends with the
/// process. A partial file without a lock was left by a process that was killed, and is deleted.
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

  /// Creates the file, which only its owner can read. Throws `MaintenanceError.beingMade` if
  /// another process is writing it.
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

  /// Returns when everything that was written so far is on disk.
  func sync() throws(MaintenanceError) {
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: path, reason: errno) }
  }

  /// Gives the file the owner of the target, or of the folder if there is no target, if this
  /// process may do that. Without this, the server could not open a store that root has restored.
  func takeOwner() { Self.takeOwner(descriptor, of: target) }

  /// Gives an open file the owner of the file at `target`, or of its folder.
  static func takeOwner(_ descriptor: Int32, of target: String) {
    var before = stat()
    guard stat(target, &before) == 0 || stat(StorePath.folder(of: target), &before) == 0 else { return }
    _ = fchown(descriptor, before.st_uid, before.st_gid)
  }

  /// Renames the file to the target, and returns when the new name is on disk. Call this once,
  /// after all connections to the file are closed.
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
      // Between `open` and `flock`, another process may have removed the file as left behind.
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
    // Between `open` and `flock`, the writing process may have renamed the file. Then the path
    // leads to another file, or to none.
    guard FileIdentity(descriptor: descriptor) == FileIdentity(path: path) else { return }
    guard unlink(path) == 0 else { throw .cannotMake(path: path, reason: errno) }
    removeCompanions(of: path)
  }

  /// Locks the file. If another process has the lock, closes the descriptor and throws.
  private static func lock(_ descriptor: Int32, _ path: String, target: String) throws(MaintenanceError) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let reason = errno
    close(descriptor)
    throw reason == EWOULDBLOCK ? .beingMade(path: target) : .cannotMake(path: path, reason: reason)
  }

  package static func removeCompanions(of path: String) {
    for suffix in companions { unlink(path + suffix) }
  }

  /// Returns when the file's name in its folder is on disk.
  static func syncFolder(of path: String) throws(MaintenanceError) {
    let folder = StorePath.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .cannotMake(path: folder, reason: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: folder, reason: errno) }
  }
}
