import LockstepThreading

/// The completion handlers that wait until all nodes know of a commit.
///
/// A thread of its own calls those whose deadline is over. The feed's thread may wait for the database for
/// many seconds, for example while it connects. So the thread of this type also notes that the process runs.
final class CommitCompletions: Sendable {
  typealias Handler = @Sendable () -> Void

  private struct Contents: Sendable {
    /// In the order of the deadlines.
    var waiting: [(commit: CommitID, deadline: ContinuousClock.Instant, handler: Handler)] = []
    var isClosed = false

    var isFinished: Bool { isClosed && waiting.isEmpty }

    mutating func remove(where isDone: (CommitID, ContinuousClock.Instant) -> Bool) -> [Handler] {
      let done = waiting.filter { isDone($0.commit, $0.deadline) }
      waiting.removeAll { isDone($0.commit, $0.deadline) }
      return done.map(\.handler)
    }
  }

  /// After this time, the lease of a node that does not know of the commit is over.
  private static let patience = NodeLease.length + .milliseconds(500)

  private let contents = LockedState(Contents())
  private let thread = LockedState<NamedThread?>(nil)

  /// Starts the thread, which calls `tick` each `StandstillWatch.interval`. Call this once.
  func start(_ tick: @escaping @Sendable () -> Void) throws(NamedThread.NotStarted) {
    let contents = contents
    let new = try NamedThread(name: "feed-deadlines") { Self.callLate(contents, tick) }
    thread.withLock { $0 = new }
  }

  /// Returns when all handlers have been called, at the latest at their deadlines.
  func shutDown() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
    thread.withLock { $0.take() }?.join()
  }

  func add(_ commit: CommitID, _ handler: @escaping Handler) {
    contents.withLock { $0.waiting.append((commit, .now + Self.patience, handler)) }
    contents.wakeAll()
  }

  /// The commits for which handlers wait.
  var commits: [CommitID] { contents.withLock { $0.waiting.map(\.commit) } }

  var isEmpty: Bool { contents.withLock { $0.waiting.isEmpty } }

  /// Calls the handlers of commits that all nodes know of.
  func complete(_ known: Set<CommitID>) {
    let handlers = contents.withLock { $0.remove { commit, _ in known.contains(commit) } }
    if handlers.isEmpty { return }
    // The thread ends with the last one.
    contents.wakeAll()
    for handler in handlers { handler() }
  }

  /// Calls handlers at their deadlines. Returns when no more can come.
  private static func callLate(_ contents: LockedState<Contents>, _ tick: () -> Void) {
    while true {
      tick()
      let now = ContinuousClock.now
      let (handlers, next) = contents.withLock { contents -> ([Handler], Duration?) in
        let handlers = contents.remove { $1 <= now }
        // A handler that is added meanwhile has a later deadline than the next tick.
        let rest = contents.waiting.first.map { $0.deadline - now } ?? StandstillWatch.interval
        return (handlers, contents.isFinished ? nil : min(rest, StandstillWatch.interval))
      }
      for handler in handlers { handler() }
      guard let next else { return }
      _ = contents.wait(atMost: next.wholeNanoseconds) { $0.isFinished ? () : nil }
    }
  }
}
