import Glibc
import LockstepThreading

/// A new file that a command writes and only its owner can read.
final class OutputFile: Sendable {
  let path: String
  private let descriptor: Int32
  private let isFinished = LockedState(false)

  init(_ path: String) throws(CommandError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandError(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(errno))).")
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Call this even after an error. `deinit` may be too late, because a task may still write.
  func removeUnlessFinished() {
    if !isFinished.withLock({ $0 }) { unlink(path) }
  }

  func write(_ bytes: [UInt8]) throws(CommandError) {
    guard Terminal.write(bytes, to: descriptor) else { throw failure() }
  }

  /// Returns when the whole file is on disk.
  func finish() throws(CommandError) {
    guard fsync(descriptor) == 0 else { throw failure() }
    isFinished.withLock { $0 = true }
  }

  private func failure() -> CommandError {
    CommandError(.store, "\(path) cannot be written: \(String(cString: strerror(errno))).")
  }
}
