import Glibc
import LockstepSQLite
import LockstepThreading
import LockstepTime

/// The right to be the only server of a store, held until it is released or the process ends, however it ends.
///
/// It is a lock (`flock`) on a file of its own beside the store: SQLite's own locks are for moments, and those that a
/// process has on a database's file are lost when it closes any descriptor of that file. Whoever only reads, such as the
/// `sqlite3` shell, doesn't ask for it.
package final class StoreLock: Sendable {
  private let path: String
  private let descriptor: Int32

  /// How often it's tried anew while somebody has it.
  private static let glance = Duration.milliseconds(20)

  /// The same, waiting about so long for whoever has it. An operator's command may have it for a moment: a server that
  /// starts just then mustn't give up.
  static func take(
    store: String,
    patience: Duration,
    pause: (Duration) -> Void = StoreLock.pause
  ) throws(StoreError) -> StoreLock {
    var left = patience
    while true {
      do throws(StoreError) {
        return try StoreLock(store: store)
      } catch {
        guard case .inUse = error, left > .zero else { throw error }
      }
      left -= glance
      pause(glance)
    }
  }

  /// Sleeps: nobody can wake who waits for the lock.
  private static func pause(_ duration: Duration) {
    _ = LockedState(()).wait(atMost: duration.wholeNanoseconds) { _ -> Void? in nil }
  }

  /// Takes the lock of the store of this path, which has no symbolic links in it, or throws `StoreError.inUse`.
  package init(store: String) throws(StoreError) {
    path = store + "-lock"
    while true {
      // Not through a link: it would be a lock on some other file, or make one somewhere else.
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw .cannotLock(path: path, reason: errno) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let reason = errno
        close(descriptor)
        throw reason == EWOULDBLOCK ? .inUse(path: store) : .cannotLock(path: path, reason: reason)
      }
      // Whoever had it before may have removed the file between the two calls: then this lock keeps nobody away.
      if FileIdentity(descriptor: descriptor) == FileIdentity(path: path) {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
    }
  }

  deinit {
    // Removed while it is locked, so that nobody can have taken it meanwhile.
    unlink(path)
    close(descriptor)
  }
}
