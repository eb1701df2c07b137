/// Calls completion handlers on its own thread, in order, while a writer thread works on the next group.
/// On the writer thread, slow handlers would delay every write.
package final class HandlerThread: Sendable {
  package typealias Handler = @Sendable () -> Void

  private struct Contents: Sendable {
    var groups: [[Handler]] = []
    var isRunning = false
    var isClosed = false

    var isIdle: Bool { groups.isEmpty && !isRunning }
  }

  /// How many groups may wait. If as many wait, the writer thread waits before it adds another one.
  private static let capacity = 4

  private let contents: LockedState<Contents>
  private let thread: NamedThread

  package init(name: String) throws(NamedThread.NotStarted) {
    let contents = LockedState(Contents())
    self.contents = contents
    thread = try NamedThread(name: name) {
      while let group = Self.next(contents) {
        for handler in group { handler() }
        contents.withLock { $0.isRunning = false }
        contents.wakeAll()
      }
    }
  }

  /// Whether all queued handlers have returned.
  package var isIdle: Bool { contents.withLock { $0.isIdle } }

  /// Queues the handlers of a group. Waits if the queue is full.
  package func run(_ group: [Handler]) {
    contents.wait { contents -> Void? in
      guard contents.groups.count < Self.capacity else { return nil }
      contents.groups.append(group)
      return ()
    }
    contents.wakeAll()
  }

  /// Returns when all queued handlers have returned.
  package func waitUntilIdle() {
    contents.wait { contents -> Void? in contents.isIdle ? () : nil }
  }

  /// Calls the queued handlers and ends the thread. Call this once, on the writer thread.
  package func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
    thread.join()
  }

  /// The next group, or nil if the queue is closed and empty.
  private static func next(_ contents: LockedState<Contents>) -> [Handler]? {
    let next = contents.wait { contents -> [Handler]?? in
      if contents.groups.isEmpty { return contents.isClosed ? .some(nil) : nil }
      contents.isRunning = true
      return contents.groups.removeFirst()
    }
    // The writer thread may be waiting for room in the queue.
    contents.wakeAll()
    return next
  }
}
