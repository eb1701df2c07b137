import Glibc

/// A file in the making, beside the one that it is to become: `<target>.partial`, which nobody takes for a whole one.
///
/// Only one may make it at a time, which a lock (`flock`) sees to that ends with the process. So one that was left behind by
/// a process that was killed is known by having no lock, and is made anew.
final class PartialFile {
  static let suffix = ".partial"
  /// What SQLite may leave beside a database, and what must not lie beside another one of the same name.
  static let companions = ["-wal", "-shm", "-journal"]

  let path: String
  private let target: String
  /// For the lock and to sync by. SQLite's own locks on the file, which closing this lets go of, keep nobody away: nobody
  /// else opens a partial file.
  private let descriptor: Int32
  private var isPublished = false

  /// Makes it, empty and for its owner only. Throws `OperatingError.beingMade` where somebody else is at it.
  init(target: String) throws(OperatingError) {
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
  func sync() throws(OperatingError) {
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: path, reason: errno) }
  }

  /// Gives it its name, in the place of what had that before, and returns when that is on disk. To be called once, with
  /// nothing open that writes it.
  ///
  /// It belongs to whom the file before belonged, where this process may see to that: who restores a store as root mustn't
  /// keep the server from opening it.
  func publish() throws(OperatingError) {
    var before = stat()
    if stat(target, &before) == 0 { _ = fchown(descriptor, before.st_uid, before.st_gid) }
    try sync()
    guard rename(path, target) == 0 else { throw .cannotMake(path: target, reason: errno) }
    isPublished = true
    try Self.syncFolder(of: target)
  }

  private static func openLocked(_ path: String, target: String) throws(OperatingError) -> Int32 {
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw .cannotMake(path: path, reason: errno) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let reason = errno
        close(descriptor)
        throw reason == EWOULDBLOCK ? .beingMade(path: target) : .cannotMake(path: path, reason: reason)
      }
      // Whoever had it before may have given it its name between the two calls: then it's theirs, and whole.
      if FileIdentity(descriptor: descriptor) == FileIdentity(path: path) {
        if ftruncate(descriptor, 0) == 0, fchmod(descriptor, 0o600) == 0 { return descriptor }
        let reason = errno
        close(descriptor)
        throw .cannotMake(path: path, reason: reason)
      }
      close(descriptor)
    }
  }

  /// Whether a file that has this form of name is one that nobody makes any more.
  static func isLeftBehind(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
  }

  /// Removes what lies beside a database of this path.
  static func removeCompanions(of path: String) {
    for suffix in companions { unlink(path + suffix) }
  }

  /// Returns when the names in the file's folder are on disk.
  static func syncFolder(of path: String) throws(OperatingError) {
    let folder = StorePath.folder(of: path)
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .cannotMake(path: folder, reason: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .cannotMake(path: folder, reason: errno) }
  }
}
