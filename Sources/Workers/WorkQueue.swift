/// Work that waits for a thread, first in, first out, never more than `capacity` of it.
final class WorkQueue: Sendable {
  /// What became of work that was offered.
  enum Offer {
    case accepted
    case full
    case closed
  }

  private struct Contents: Sendable {
    var waiting: [@Sendable () -> Void] = []
    /// Where the oldest lies in `waiting`; what is before it has been taken.
    var first = 0
    var isClosed = false

    var count: Int { waiting.count - first }

    mutating func removeFirst() -> (@Sendable () -> Void)? {
      guard first < waiting.count else { return nil }
      let work = waiting[first]
      first += 1
      // Now and then the taken ones are let go, so that each is moved once at most.
      if first * 2 >= waiting.count {
        waiting.removeFirst(first)
        first = 0
      }
      return work
    }
  }

  private let capacity: Int
  private let contents = Monitor(Contents())

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Takes the work, or says at once why not.
  func offer(_ work: @escaping @Sendable () -> Void) -> Offer {
    let offer = contents.withLock { contents -> Offer in
      if contents.isClosed { return .closed }
      if contents.count >= capacity { return .full }
      contents.waiting.append(work)
      return .accepted
    }
    if offer == .accepted { contents.wakeOne() }
    return offer
  }

  /// The oldest work, waited for; nil when the queue is closed and empty.
  func next() -> (@Sendable () -> Void)? {
    contents.wait { contents -> (@Sendable () -> Void)?? in
      if let work = contents.removeFirst() { return .some(work) }
      return contents.isClosed ? .some(nil) : nil
    }
  }

  /// Accepts nothing more; when all that was accepted is taken, whoever waits for more gets nil.
  func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
  }
}
