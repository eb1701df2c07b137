/// Work that waits for a thread, first in, first out, never more than `capacity` of it.
public final class WorkQueue<Work: Sendable>: Sendable {
  private struct Contents: Sendable {
    var waiting: [Work] = []
    /// Where the oldest lies in `waiting`; what is before it has been taken.
    var first = 0
    var isClosed = false

    var count: Int { waiting.count - first }

    mutating func removeFirst() -> Work? {
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

    mutating func removeFirst(atMost limit: Int) -> [Work] {
      if first == 0, waiting.count <= limit {
        // All of it, as it lies there.
        var taken: [Work] = []
        swap(&taken, &waiting)
        return taken
      }
      let end = first + min(limit, count)
      let taken = Array(waiting[first..<end])
      waiting.removeFirst(end)
      first = 0
      return taken
    }
  }

  private let name: String
  private let capacity: Int
  private let contents = LockedState(Contents())

  /// An empty queue.
  ///
  /// - Parameters:
  ///   - name: What its errors call it.
  ///   - capacity: How much may wait, at least 1.
  public init(name: String, capacity: Int) {
    self.name = name
    self.capacity = max(1, capacity)
  }

  /// How much waits now.
  public var count: Int { contents.withLock { $0.count } }

  /// Takes the work, or throws at once why not: `WorkerPool.Overloaded` when the queue is full, `WorkerPool.ShutDown`
  /// when it is closed.
  public func offer(_ work: Work) throws {
    try contents.withLock { contents in
      if contents.isClosed { throw WorkerPool.ShutDown(pool: name) }
      if contents.count >= capacity { throw WorkerPool.Overloaded(pool: name, capacity: capacity) }
      contents.waiting.append(work)
    }
    contents.wakeOne()
  }

  /// The oldest work, waited for; nil when the queue is closed and empty.
  public func next() -> Work? {
    contents.wait { contents -> Work?? in
      if let work = contents.removeFirst() { return .some(work) }
      return contents.isClosed ? .some(nil) : nil
    }
  }

  /// The oldest work, waited for so long at most, on the system's clock; nil when the time is over, or the queue closed and
  /// empty.
  public func next(withinNanoseconds time: Int64) -> Work? {
    contents.wait(atMost: time) { contents -> Work?? in
      if let work = contents.removeFirst() { return .some(work) }
      return contents.isClosed ? .some(nil) : nil
    } ?? nil
  }

  /// The work that waits now, the oldest first, up to so much of it.
  public func takeWaiting(atMost limit: Int = .max) -> [Work] {
    contents.withLock { $0.removeFirst(atMost: limit) }
  }

  /// Whether nothing more is accepted.
  public var isClosed: Bool { contents.withLock { $0.isClosed } }

  /// Accepts nothing more; when all that was accepted is taken, whoever waits for more gets nil.
  public func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
  }
}
