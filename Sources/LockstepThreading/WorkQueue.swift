/// A bounded first-in, first-out queue of work for threads.
///
/// `offer` is inlinable, because each write calls it, and other modules would run it unspecialized.
public final class WorkQueue<Work: Sendable>: Sendable {
  @usableFromInline
  struct Contents: Sendable {
    @usableFromInline var waiting: [Work] = []
    /// The index of the oldest work. The work before it has been taken.
    @usableFromInline var first = 0
    @usableFromInline var isClosed = false
    /// How many of the oldest entries were offered ahead of the others.
    @usableFromInline var ahead = 0
    /// How many of these were taken since the last other entry.
    private var aheadTaken = 0

    @inlinable var count: Int { waiting.count - first }

    mutating func removeFirst() -> Work? {
      guard first < waiting.count else { return nil }
      if ahead == 0 {
        aheadTaken = 0
      } else if aheadTaken >= 3, ahead < count {
        aheadTaken = 0
        return waiting.remove(at: first + ahead)
      } else {
        ahead -= 1
        aheadTaken += 1
      }
      let work = waiting[first]
      first += 1
      // Released in bulk, so that on average at most one element moves for each taken one.
      if first * 2 >= waiting.count {
        waiting.removeFirst(first)
        first = 0
      }
      return work
    }

    mutating func removeFirst(atMost limit: Int) -> [Work] {
      ahead = max(0, ahead - limit)
      if first == 0, waiting.count <= limit {
        defer { waiting = [] }
        return waiting
      }
      let end = first + min(limit, count)
      let taken = Array(waiting[first..<end])
      waiting.removeFirst(end)
      first = 0
      return taken
    }

    /// The result of a wait: nil to wait on, `.some(nil)` if the queue is closed and empty.
    mutating func next() -> Work?? {
      if let work = removeFirst() { return .some(work) }
      return isClosed ? .some(nil) : nil
    }
  }

  @usableFromInline let name: String
  @usableFromInline let capacity: Int
  @usableFromInline let contents = LockedState(Contents())

  /// Errors contain `name`. A `capacity` below 1 counts as 1.
  package init(name: String, capacity: Int) {
    self.name = name
    self.capacity = max(1, capacity)
  }

  package var count: Int { contents.withLock { $0.count } }

  /// Throws `PoolOverloadedError` if at most `places` are free, because these are for other work, and
  /// `PoolShutDownError` if the queue is closed. Work with `isAhead` is taken before other work. But after three
  /// pieces of such work, the oldest other work is taken, so that the other work does not wait forever.
  @inlinable
  public func offer(_ work: Work, leaving places: Int = 0, isAhead: Bool = false) throws {
    try contents.withLock { contents in
      if contents.isClosed { throw PoolShutDownError(pool: name) }
      if contents.count >= capacity - places { throw PoolOverloadedError(pool: name, capacity: capacity - places) }
      guard isAhead else { return contents.waiting.append(work) }
      contents.waiting.insert(work, at: contents.first + contents.ahead)
      contents.ahead += 1
    }
    contents.wakeOne()
  }

  /// Waits for work and takes the oldest. Returns nil if the queue is closed and empty.
  package func next() -> Work? { contents.wait { $0.next() } }

  /// Like `next()`, with a time limit by the monotonic clock. Also returns nil when the time is
  /// over.
  package func next(withinNanoseconds time: Int64) -> Work? { contents.wait(atMost: time) { $0.next() } ?? nil }

  /// Takes the work that waits now, oldest first, up to `limit`.
  package func takeWaiting(atMost limit: Int = .max) -> [Work] {
    contents.withLock { $0.removeFirst(atMost: limit) }
  }

  package var isClosed: Bool { contents.withLock { $0.isClosed } }

  /// Accepts no more work. `next()` still returns accepted work, and nil after that.
  package func close() {
    contents.withLock { $0.isClosed = true }
    contents.wakeAll()
  }
}

/// More work waits than a pool or queue accepts. Try again later.
public struct PoolOverloadedError: Error, Equatable, CustomStringConvertible {
  package let pool: String
  /// How much work may wait.
  package let capacity: Int

  @usableFromInline
  package init(pool: String, capacity: Int) {
    self.pool = pool
    self.capacity = capacity
  }

  /// For example: `the pool "hash" is overloaded: 64 pieces of work wait already`.
  public var description: String { "the pool \"\(pool)\" is overloaded: \(capacity) pieces of work wait already" }
}

/// A pool or queue accepts no more work, because it is shutting down.
public struct PoolShutDownError: Error, Equatable, CustomStringConvertible {
  package let pool: String

  @usableFromInline
  package init(pool: String) { self.pool = pool }

  /// For example: `the pool "hash" has been shut down`.
  public var description: String { "the pool \"\(pool)\" has been shut down" }
}
