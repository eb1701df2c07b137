import Glibc
import LockstepJSON
import LockstepThreading
import LockstepTime

/// Writes log lines to a descriptor on its own thread, so that a blocked terminal or pipe cannot
/// block the server.
///
/// The buffer is bounded. If it is full, lines are dropped, and a later line says how many.
public final class LogWriter: Sendable {
  private struct Pending: Sendable {
    var bytes: [UInt8] = []
    var dropped = 0
    var droppedTotal = 0
    var isClosed = false
    var needsWork: Bool { !bytes.isEmpty || dropped > 0 || isClosed }
  }

  private let descriptor: Int32
  private let format: LogFormat
  private let bound: Int
  private let timeout: Int32
  private let now: @Sendable () -> Timestamp
  private let pending = LockedState(Pending())
  private let thread = LockedState<NamedThread?>(nil)

  /// A write of this size does not block on a pipe that has room (Linux's `PIPE_BUF`).
  private static let piece = 4096
  /// The interval in milliseconds at which a blocked writer checks whether it has been closed.
  private static let pause: Int32 = 100

  /// A writer that buffers up to `bound` bytes. After `close()`, it gives up when the reader takes
  /// nothing for `timeout` milliseconds. `now` is the time for the line that reports dropped lines.
  public init(
    descriptor: Int32,
    format: LogFormat = .text,
    bound: Int = 1024 * 1024,
    timeout: Int32 = 1000,
    now: @escaping @Sendable () -> Timestamp
  ) throws(NamedThread.NotStarted) {
    self.descriptor = descriptor
    self.format = format
    self.bound = bound
    self.timeout = timeout
    self.now = now
    let thread = try NamedThread(name: "log") { self.run() }
    self.thread.withLock { $0 = thread }
  }

  /// Queues `line`, which must end with a line feed. Returns at once.
  public func write(_ line: [UInt8]) {
    pending.withLock { pending in
      if pending.bytes.count + line.count > bound {
        pending.dropped += 1
        pending.droppedTotal += 1
      } else {
        pending.bytes += line
      }
    }
    pending.wakeOne()
  }

  /// The number of dropped lines.
  public var dropped: Int { pending.withLock { $0.droppedTotal } }

  /// Writes the queued lines while the reader takes them, then ends. Later lines are lost.
  public func close() {
    pending.withLock { $0.isClosed = true }
    pending.wakeOne()
    thread.withLock { $0.take() }?.join()
  }

  private func run() {
    while true {
      let taken = pending.wait { pending -> Pending? in
        guard pending.needsWork else { return nil }
        defer {
          pending.bytes = []
          pending.dropped = 0
        }
        return pending
      }
      writeAll(taken.bytes)
      if taken.dropped > 0 { writeAll(notice(dropped: taken.dropped)) }
      if taken.isClosed { return }
    }
  }

  private func writeAll(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, waitForRoom() {
      let count = rest.prefix(Self.piece).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      // There is no other place to report an error of the log.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns true when the descriptor is writable or broken, and false after the timeout.
  private func waitForRoom() -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var waited: Int32 = 0
    while poll(&entry, 1, Self.pause) == 0 {
      guard pending.withLock({ $0.isClosed }) else { continue }
      waited += Self.pause
      guard waited < timeout else { return false }
    }
    return true
  }

  private func notice(dropped count: Int) -> [UInt8] {
    Logger.line(
      .warning,
      "log lines were dropped: the log is read too slowly",
      ["lines": .integer(Int64(count))],
      at: now(),
      in: format
    )
  }
}
