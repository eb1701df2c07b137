import CLockstepPostgreSQL
import Glibc

/// Ends a wait of a connection from another thread.
package final class PostgreSQLInterrupt: Sendable {
  /// An eventfd. It is open as long as this object lives.
  let descriptor: Int32

  /// - Throws: A `PostgreSQLError` if the process has no file descriptor left.
  package init() throws(PostgreSQLError) {
    descriptor = lockstep_event_make()
    guard descriptor >= 0 else {
      throw PostgreSQLError(
        kind: .other,
        message: "eventfd failed: \(String(cString: strerror(errno)))",
        operation: .listen
      )
    }
  }

  deinit { close(descriptor) }

  /// For notifications: ends the current wait, or the next one if no thread waits now. As
  /// `PostgreSQLConnection.Options.cancellation`: ends all waits, now and later.
  package func interrupt() {
    var one: UInt64 = 1
    // Fails only if the counter is full, and then the wait ends as well.
    _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
  }

  /// Whether `interrupt` was called since the last call.
  func consume() -> Bool {
    var count: UInt64 = 0
    return read(descriptor, &count, MemoryLayout<UInt64>.size) > 0
  }
}

/// A notification that another connection, or this one, sent with `NOTIFY`.
package struct PostgreSQLNotification: Sendable, Equatable {
  package let channel: String
  package let payload: String
  /// The process of the server that sent it.
  package let pid: Int32
}
