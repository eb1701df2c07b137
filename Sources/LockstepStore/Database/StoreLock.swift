import Glibc
import LockstepSQLite
import LockstepThreading
import LockstepTime

/// The right to be the only server of a store. It ends when the object is released, and when the
/// process ends or crashes.
///
/// It is a `flock` lock on a file beside the store. SQLite holds its own locks only during
/// transactions. And a process loses its locks on a database file when it closes any descriptor of
/// that file. Programs that only read, such as the `sqlite3` shell, do not need the lock.
package final class StoreLock: Sendable {
  private let path: String
  private let descriptor: Int32

  private static let interval = Duration.milliseconds(20)

  /// Takes the lock. If another process has it, waits for about `patience`. `lockstep user` may
  /// hold it for a moment, and a server that starts at that time must not fail.
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
      left -= interval
      pause(interval)
    }
  }

  /// Sleeps between two attempts, because `flock` cannot wait with a time limit.
  private static func pause(_ duration: Duration) {
    _ = LockedState(()).wait(atMost: duration.wholeNanoseconds) { _ -> Void? in nil }
  }

  /// Takes the lock of the store at this path, which contains no symbolic links, or throws
  /// `StoreError.inUse`.
  package init(store: String) throws(StoreError) {
    path = store + "-lock"
    while true {
      // Refuses a symbolic link, which could lead to any other file.
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw .cannotLock(path: path, reason: errno) }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let reason = errno
        close(descriptor)
        throw reason == EWOULDBLOCK ? .inUse(path: store) : .cannotLock(path: path, reason: reason)
      }
      // Between `open` and `flock`, the previous holder may have removed the file. Then another
      // server would lock a new file.
      if FileIdentity(descriptor: descriptor) == FileIdentity(path: path) {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
    }
  }

  deinit {
    // Removes the file while it is locked, so that no other server can have locked it.
    unlink(path)
    close(descriptor)
  }
}
