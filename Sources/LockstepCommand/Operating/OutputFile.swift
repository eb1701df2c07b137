import Glibc
import LockstepThreading

/// A new file that a command writes, for its owner only.
final class OutputFile: Sendable {
  let path: String
  private let descriptor: Int32
  private let isFinished = LockedState(false)

  init(_ path: String) throws(CommandError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandError(.cannotCreate, "\(path) can't be made: \(String(cString: strerror(errno))).")
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Removes it, unless it's finished. To be called whatever becomes of what is written: who writes may outlive the command.
  func removeUnlessFinished() {
    if !isFinished.withLock({ $0 }) { unlink(path) }
  }

  func write(_ bytes: [UInt8]) throws(CommandError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure() }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns when all of it is on disk.
  func finish() throws(CommandError) {
    guard fsync(descriptor) == 0 else { throw failure() }
    isFinished.withLock { $0 = true }
  }

  private func failure() -> CommandError {
    CommandError(.store, "\(path) can't be written: \(String(cString: strerror(errno))).")
  }
}
