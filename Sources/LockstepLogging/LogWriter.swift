import Glibc
import LockstepJSON
import LockstepThreading
import LockstepTime

/// Writes log lines to a descriptor from a thread of its own, so that a terminal or pipe that nobody reads can stop the
/// log but never the server.
///
/// What waits to be written is bounded: past the bound lines are dropped and counted, and a line says how many.
public final class LogWriter: Sendable {
  private struct Pending: Sendable {
    var bytes: [UInt8] = []
    var dropped = 0
    var droppedEver = 0
    var isClosed = false
    var hasNews: Bool { !bytes.isEmpty || dropped > 0 || isClosed }
  }

  private let descriptor: Int32
  private let format: LogFormat
  private let bound: Int
  private let patience: Int32
  private let now: @Sendable () -> Timestamp
  private let pending = LockedState(Pending())
  private let thread = LockedState<NamedThread?>(nil)

  /// As much as goes into a pipe that has room at all, without waiting (Linux's `PIPE_BUF`).
  private static let piece = 4096
  /// How often a writer whose reader takes nothing looks whether it is to end, in milliseconds.
  private static let pause: Int32 = 100

  /// A writer to an open descriptor, which keeps up to `bound` bytes for a reader that is slow. Once it's closed, a
  /// reader that takes nothing for `patience` milliseconds is given up: the server's end must not wait for it. `now` tells
  /// when lines were dropped.
  public init(
    descriptor: Int32,
    format: LogFormat = .text,
    bound: Int = 1024 * 1024,
    patience: Int32 = 1000,
    now: @escaping @Sendable () -> Timestamp
  ) throws(NamedThread.NotStarted) {
    self.descriptor = descriptor
    self.format = format
    self.bound = bound
    self.patience = patience
    self.now = now
    let thread = try NamedThread(name: "log") { self.run() }
    self.thread.withLock { $0 = thread }
  }

  /// Takes a line, with its line end. Returns at once.
  public func write(_ line: [UInt8]) {
    pending.withLock { pending in
      if pending.bytes.count + line.count > bound {
        pending.dropped += 1
        pending.droppedEver += 1
      } else {
        pending.bytes += line
      }
    }
    pending.wakeOne()
  }

  /// How many lines were dropped so far.
  public var dropped: Int { pending.withLock { $0.droppedEver } }

  /// Writes what is left, as long as somebody takes it, and ends. What is written after it is lost.
  public func close() {
    pending.withLock { $0.isClosed = true }
    pending.wakeOne()
    thread.withLock { thread in
      defer { thread = nil }
      return thread
    }?.join()
  }

  private func run() {
    while true {
      let taken = pending.wait { pending -> Pending? in
        guard pending.hasNews else { return nil }
        defer {
          pending.bytes = []
          pending.dropped = 0
        }
        return pending
      }
      writeAll(taken.bytes)
      if taken.dropped > 0 {
        writeAll(notice(dropped: taken.dropped))
      }
      if taken.isClosed { return }
    }
  }

  private func writeAll(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty, waitForRoom() {
      let count = rest.prefix(Self.piece).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      // Nobody to tell: the log is where one would tell it.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Returns when the reader takes something, or can't any more, which writing will tell; false when it's given up.
  private func waitForRoom() -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var waited: Int32 = 0
    while poll(&entry, 1, Self.pause) == 0 {
      guard pending.withLock({ $0.isClosed }) else { continue }
      waited += Self.pause
      guard waited < patience else { return false }
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
