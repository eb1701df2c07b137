import LockstepThreading

/// Calls completion handlers on its own thread, in order, while the writer thread runs the next
/// group. On the writer thread, slow handlers would delay every write.
final class CommitNotifier: Sendable {
  /// A unit of a committed group, with its completion handler for success, or its own error.
  struct Entry: Sendable {
    let unit: WriteUnit
    let outcome: Result<@Sendable () -> Void, any Error>

    func notify() {
      switch outcome {
      case .success(let complete): complete()
      case .failure(let error): unit.fail(error)
      }
    }
  }

  private struct Contents: Sendable {
    var groups: [[Entry]] = []
    var isRunning = false
    var isClosed = false

    var isIdle: Bool { groups.isEmpty && !isRunning }
  }

  /// How many groups may wait. If as many wait, the writer thread waits before it adds another one.
  private static let capacity = 4

  private let contents: LockedState<Contents>
  private let thread: NamedThread

  init(name: String) throws(NamedThread.NotStarted) {
    let contents = LockedState(Contents())
    self.contents = contents
    thread = try NamedThread(name: name) {
      while let group = Self.next(contents) {
        for entry in group { entry.notify() }
        contents.withLock { $0.isRunning = false }
        contents.wakeAll()
      }
    }
  }

  /// Whether all queued handlers have returned.
  var isIdle: Bool { contents.withLock { $0.isIdle } }

  /// Queues a group's handlers. Waits if the queue is full.
  func notify(_ group: [Entry]) {
    contents.wait { contents -> Void? in
      guard contents.groups.count < Self.capacity else { return nil }
      contents.groups.append(group)
      return ()
    }
    contents.wakeAll()
  }

  /// Returns when all queued handlers have returned.
  func waitUntilIdle() {
    contents.wait { contents -> Void? in contents.isIdle ? () : nil }
  }

  /// Calls the queued handlers and ends the thread. Call this once, on the writer thread.
  func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
    thread.join()
  }

  /// The next group, or nil if the queue is closed and empty.
  private static func next(_ contents: LockedState<Contents>) -> [Entry]? {
    let next = contents.wait { contents -> [Entry]?? in
      if contents.groups.isEmpty { return contents.isClosed ? .some(nil) : nil }
      contents.isRunning = true
      return contents.groups.removeFirst()
    }
    // The writer thread may be waiting for room in the queue.
    contents.wakeAll()
    return next
  }
}
