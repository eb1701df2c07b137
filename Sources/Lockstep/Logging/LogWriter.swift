import CLinux
import Glibc
import HTTPServer
import Synchronization

/// Writes log lines to a descriptor from a thread of its own, so that a terminal or pipe that nobody reads can stop the
/// log but never the server.
///
/// What waits to be written is bounded: past the bound lines are dropped and counted, and a line says how many.
public final class LogWriter: Sendable {
  private struct Pending {
    var bytes: [UInt8] = []
    var dropped = 0
    var isClosed = false
  }

  private let descriptor: Int32
  private let bound: Int
  private let pending = Mutex(Pending())
  private let bell: Int32
  private let droppedLines = Atomic(0)
  private let thread = Mutex<LoopThread?>(nil)

  /// A writer to an open descriptor, which keeps up to `bound` bytes for a reader that is slow.
  public init(descriptor: Int32, bound: Int = 1024 * 1024) throws(SystemError) {
    self.descriptor = descriptor
    self.bound = bound
    bell = eventfd(0, Int32(EFD_CLOEXEC))
    guard bell >= 0 else { throw SystemError("eventfd", purpose: "start the log") }
    let thread = try LoopThread(name: "log") { self.run() }
    self.thread.withLock { $0 = thread }
  }

  /// Takes a line, with its line end. Returns at once.
  public func write(_ line: [UInt8]) {
    let wasEmpty = pending.withLock { pending in
      let wasEmpty = pending.bytes.isEmpty && pending.dropped == 0
      if pending.bytes.count + line.count > bound { pending.dropped += 1 } else { pending.bytes += line }
      return wasEmpty
    }
    if wasEmpty { ring() }
  }

  /// How many lines were dropped so far.
  public var dropped: Int { droppedLines.load(ordering: .relaxed) }

  /// Writes what is left and ends. Nothing may be written after it.
  public func close() {
    pending.withLock { $0.isClosed = true }
    ring()
    thread.withLock { $0.take() }?.join()
    _ = Glibc.close(bell)
  }

  private func ring() {
    var one: UInt64 = 1
    _ = Glibc.write(bell, &one, MemoryLayout<UInt64>.size)
  }

  private func run() {
    var isClosed = false
    while !isClosed {
      var count: UInt64 = 0
      _ = read(bell, &count, MemoryLayout<UInt64>.size)
      let taken = pending.withLock { pending in
        defer {
          pending.bytes = []
          pending.dropped = 0
        }
        return pending
      }
      isClosed = taken.isClosed
      writeAll(taken.bytes)
      if taken.dropped > 0 {
        droppedLines.add(taken.dropped, ordering: .relaxed)
        writeAll(Array("lockstep: \(taken.dropped) log lines were dropped: the log is read too slowly\n".utf8))
      }
    }
  }

  private func writeAll(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      // Nobody to tell: the log is where one would tell it.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
