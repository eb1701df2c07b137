import Glibc
import LockstepStore

/// A file in the making, beside the one that it is to become: `<target>.partial`, which nobody takes for a whole one.
///
/// Only one may make it at a time, which a lock (`flock`) sees to that ends with the process. So one that was left behind by
/// a process that was killed is known by having no lock, and is made anew.
package final class PartialFile {
  static let suffix = ".partial"
  /// What SQLite may leave beside a database, and what must not lie beside another one of the same name.
  static let companions = ["-wal", "-shm", "-journal"]

  let path: String
  private let target: String
  /// For the lock and to sync by. SQLite's own locks on the file, which closing this lets go of, keep nobody away: nobody
  /// else opens a partial file.
  private let descriptor: Int32
  private var isPublished = false

  /// Makes it, empty and for its owner only. Throws `MaintenanceError.beingMade` where somebody else is at it.
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

  /// Returns when all that was written to the file so far is on disk.
  func sync() throws(MaintenanceError) {
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: path, reason: errno) }
  }

  /// Has it belong to whom the target belongs, or where there is none its folder, where this process may see to that: who
  /// restores a store as root mustn't keep the server from opening it.
  func takeOwner() {
    var before = stat()
    guard stat(target, &before) == 0 || stat(StorePath.folder(of: target), &before) == 0 else { return }
    _ = fchown(descriptor, before.st_uid, before.st_gid)
  }

  /// Gives it its name, in the place of what had that before, and returns when that is on disk. To be called once, with
  /// nothing open that writes it.
  func publish() throws(MaintenanceError) {
    try sync()
    guard rename(path, target) == 0 else { throw .cannotMake(path: target, reason: errno) }
    isPublished = true
    try Self.syncFolder(of: target)
  }

  private static func openLocked(_ path: String, target: String) throws(MaintenanceError) -> Int32 {
    while true {
      // A new one always: what lies there may be somebody else's, who would have all that is written into it.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      if descriptor < 0, errno == EEXIST {
        try removeLeftBehind(path, target: target)
        continue
      }
      guard descriptor >= 0 else { throw .cannotMake(path: path, reason: errno) }
      try lock(descriptor, path, target: target)
      // Somebody may have taken it for one that was left behind, between the two calls, and removed it.
      if FileIdentity(descriptor: descriptor) == FileIdentity(path: path), fchmod(descriptor, 0o600) == 0 {
        return descriptor
      }
      close(descriptor)
    }
  }

  /// Removes what has the name, unless somebody is making it.
  private static func removeLeftBehind(_ path: String, target: String) throws(MaintenanceError) {
    guard StorePath.isFileItself(path) || !StorePath.isTaken(path) else { throw .notAFile(path: path) }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw .cannotMake(path: path, reason: errno)
    }
    try lock(descriptor, path, target: target)
    defer { close(descriptor) }
    // Whoever had it may have given it its name between the calls: then another has the name, or none.
    guard FileIdentity(descriptor: descriptor) == FileIdentity(path: path), unlink(path) != 0 else { return }
    throw .cannotMake(path: path, reason: errno)
  }

  /// Throws where somebody else has the lock; the file is closed then.
  private static func lock(_ descriptor: Int32, _ path: String, target: String) throws(MaintenanceError) {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    let reason = errno
    close(descriptor)
    throw reason == EWOULDBLOCK ? .beingMade(path: target) : .cannotMake(path: path, reason: reason)
  }

  /// Whether a file that has this form of name is one that nobody makes any more.
  static func isLeftBehind(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  /// Removes what lies beside a database of this path.
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
