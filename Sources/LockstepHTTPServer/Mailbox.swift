import CLockstepLinux
import Glibc
import LockstepThreading

/// Passes work from other threads to a loop, and wakes the loop.
final class Mailbox: Sendable {
  struct Contents: Sendable {
    var jobs: [UnownedJob] = []
    /// The tokens of parked connections to wake.
    var woken: [UInt64] = []
    var drains = false
    /// The event that wakes the loop; nil once the loop has ended.
    fileprivate var wakeEvent: Int32?
    fileprivate var isEmpty: Bool { jobs.isEmpty && woken.isEmpty && !drains }
  }

  private let contents: LockedState<Contents>

  init(wakeEvent: Int32) {
    contents = LockedState(Contents(wakeEvent: wakeEvent))
  }

  func collect() -> Contents {
    contents.withLock { contents in
      defer { contents = Contents(wakeEvent: contents.wakeEvent) }
      return contents
    }
  }

  /// Stops waking the loop, because it has ended. Later contents are ignored.
  func close() {
    contents.withLock { $0.wakeEvent = nil }
  }

  func post(_ change: (inout Contents) -> Void) {
    // The lock is held until the event is written. Otherwise the loop could close the event in
    // between, and another file could get its descriptor.
    contents.withLock { contents in
      let wasEmpty = contents.isEmpty
      change(&contents)
      guard wasEmpty, let wakeEvent = contents.wakeEvent else { return }
      var one: UInt64 = 1
      _ = write(wakeEvent, &one, MemoryLayout<UInt64>.size)
    }
  }
}
