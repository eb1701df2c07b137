import CLockstepLinux
import Glibc
import LockstepThreading

/// How other threads reach a loop: jobs to run, orders to follow, connections to bring back, and a bell that wakes it.
final class Mailbox: Sendable {
  /// What the server tells its loops.
  enum Order: Sendable {
    /// Accept no more, finish what runs, then end.
    case drain
    /// Look at the deadlines again: the clock was moved by hand.
    case lookAtClock
  }

  private struct Contents: Sendable {
    var jobs: [UnownedJob] = []
    var orders: [Order] = []
    /// Parked connections that are to come back, by their tokens.
    var woken: [UInt64] = []
    var bell: Int32?
    var isEmpty: Bool { jobs.isEmpty && orders.isEmpty && woken.isEmpty }
  }

  private let contents: LockedState<Contents>

  init(bell: Int32) {
    contents = LockedState(Contents(bell: bell))
  }

  func post(_ job: UnownedJob) {
    post { $0.jobs.append(job) }
  }

  func post(_ order: Order) {
    post { $0.orders.append(order) }
  }

  func wake(_ tokens: [UInt64]) {
    post { $0.woken.append(contentsOf: tokens) }
  }

  /// Takes out what is there.
  func collect() -> (jobs: [UnownedJob], orders: [Order], woken: [UInt64]) {
    contents.withLock { contents in
      defer {
        contents.jobs = []
        contents.orders = []
        contents.woken = []
      }
      return (contents.jobs, contents.orders, contents.woken)
    }
  }

  /// Rings no more: the loop has ended. What is posted from now on stays where it is.
  func close() {
    contents.withLock { $0.bell = nil }
  }

  // The bell is rung under the lock, so that it can't be closed, and its number given to another file, in between.
  private func post(_ change: (inout Contents) -> Void) {
    contents.withLock { contents in
      let wasEmpty = contents.isEmpty
      change(&contents)
      guard wasEmpty, let bell = contents.bell else { return }
      var one: UInt64 = 1
      _ = write(bell, &one, MemoryLayout<UInt64>.size)
    }
  }
}
