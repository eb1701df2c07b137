import LockstepThreading

/// Tells callers that what they wrote is on disk, on a thread of its own and in order, while the writer is at the next group
/// already: what they do with it would hold up everybody's writes.
final class CommitNotifier: Sendable {
  typealias Tell = @Sendable () -> Void

  private struct Contents: Sendable {
    var groups: [[Tell]] = []
    var isAtWork = false
    var isClosed = false

    var isIdle: Bool { groups.isEmpty && !isAtWork }
  }

  /// How many groups may wait to be told; the writer waits for the oldest then.
  private static let capacity = 4

  private let contents: LockedState<Contents>
  private let thread: NamedThread

  /// Starts the thread.
  init(name: String) throws(NamedThread.NotStarted) {
    let contents = LockedState(Contents())
    self.contents = contents
    thread = try NamedThread(name: name) {
      while let group = Self.next(contents) {
        for tell in group { tell() }
        contents.withLock { $0.isAtWork = false }
        contents.wakeAll()
      }
    }
  }

  /// Whether all that was handed over has been told.
  var isIdle: Bool { contents.withLock { $0.isIdle } }

  /// Hands a group over, and waits only where too many wait already.
  func settle(_ group: [Tell]) {
    contents.wait { contents -> Void? in
      guard contents.groups.count < Self.capacity else { return nil }
      contents.groups.append(group)
      return ()
    }
    contents.wakeAll()
  }

  /// Returns when all that was handed over has been told.
  func finish() {
    contents.wait { contents -> Void? in contents.isIdle ? () : nil }
  }

  /// Tells what was handed over, and ends the thread. To be called once, by whoever hands over.
  func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
    thread.join()
  }

  private static func next(_ contents: LockedState<Contents>) -> [Tell]? {
    let next = contents.wait { contents -> [Tell]?? in
      if contents.groups.isEmpty { return contents.isClosed ? .some(nil) : nil }
      contents.isAtWork = true
      return contents.groups.removeFirst()
    }
    // The writer may wait for the room that there is now.
    contents.wakeAll()
    return next
  }
}
