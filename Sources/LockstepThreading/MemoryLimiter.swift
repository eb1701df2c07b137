/// Limits how much memory the data of all owners takes, from before the data is made until it is freed. One
/// owner gets at most a share. Work that does not fit waits: the owners take turns, and each owner's work
/// keeps its order. A waiting task that is cancelled leaves the queue.
package final class MemoryLimiter<Owner: Hashable & Sendable>: Sendable {
  /// Counts memory as in use until the last reference to this object is gone.
  package final class Reservation: Sendable {
    private let limiter: MemoryLimiter
    private let owner: Owner
    private let bytes: Int

    fileprivate init(_ bytes: Int, of owner: Owner, in limiter: MemoryLimiter) {
      (self.bytes, self.owner, self.limiter) = (bytes, owner, limiter)
    }

    deinit { limiter.release(bytes, of: owner) }
  }

  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct Queue: Sendable {
    var reserved = 0
    var waiting: [(number: UInt64, bytes: Int, waiter: Waiter)] = []
    /// Whether the owner is among `Contents.turns`.
    var hasTurn = false
  }

  private struct Contents: Sendable {
    var reserved = 0
    var queues: [Owner: Queue] = [:]
    /// The owners whose first waiting work fits into their share, in the order of their turns.
    var turns: [Owner] = []
    var lastNumber: UInt64 = 0
    /// Tasks that were cancelled before they reached their queue.
    var cancelled: Set<UInt64> = []
    var isDraining = false
  }

  private let name: String
  private let limit: Int
  private let share: Int
  private let waiting: Int
  private let contents = LockedState(Contents())

  /// Errors contain `name`. `waiting` limits each owner's queue.
  package init(name: String, limit: Int = .max, share: Int, waiting: Int) {
    (self.name, self.limit, self.share, self.waiting) = (name, limit, min(share, limit), waiting)
  }

  /// Reserves memory. More than an owner's share counts as the whole share. Throws `PoolOverloadedError`
  /// if the owner's queue is full, and `CancellationError` if the task is cancelled in the queue.
  nonisolated(nonsending) package func reserve(_ bytes: Int, for owner: Owner) async throws -> Reservation {
    let bytes = min(bytes, share)
    if !contents.withLock({ begins(bytes, of: owner, &$0) }) { try await waitForTurn(bytes, of: owner) }
    return Reservation(bytes, of: owner, in: self)
  }

  /// Reserves memory if that is possible without waiting.
  package func reserveNow(_ bytes: Int, for owner: Owner) -> Reservation? {
    let bytes = min(bytes, share)
    guard contents.withLock({ begins(bytes, of: owner, &$0) }) else { return nil }
    return Reservation(bytes, of: owner, in: self)
  }

  /// From now on, tasks in the queue cannot be cancelled. For a shutdown that finishes all requested work.
  package func drain() { contents.withLock { $0.isDraining = true } }

  package var reserved: Int { contents.withLock { $0.reserved } }

  /// How much work of all owners waits.
  package var waitingCount: Int { contents.withLock { $0.queues.values.reduce(0) { $0 + $1.waiting.count } } }

  private func begins(_ bytes: Int, of owner: Owner, _ contents: inout Contents) -> Bool {
    // Work that waits for other owners' memory is first.
    guard contents.turns.isEmpty, bytes <= limit - contents.reserved else { return false }
    var queue = contents.queues[owner] ?? Queue()
    guard queue.waiting.isEmpty, bytes <= share - queue.reserved else { return false }
    queue.reserved += bytes
    contents.reserved += bytes
    contents.queues[owner] = queue
    return true
  }

  nonisolated(nonsending) private func waitForTurn(_ bytes: Int, of owner: Owner) async throws {
    let number = contents.withLock { contents in
      contents.lastNumber += 1
      return contents.lastNumber
    }
    defer { _ = contents.withLock { $0.cancelled.remove(number) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        if let result = enqueue(bytes, of: owner, number, waiter) { waiter.resume(with: result) }
      }
    } onCancel: {
      cancel(owner, number)
    }
  }

  /// Adds a waiter to the owner's queue, or returns its result at once.
  private func enqueue(
    _ bytes: Int,
    of owner: Owner,
    _ number: UInt64,
    _ waiter: Waiter
  ) -> Result<Void, any Error>? {
    contents.withLock { contents in
      if contents.cancelled.contains(number), !contents.isDraining { return .failure(CancellationError()) }
      // Other work may have finished in the meantime.
      if begins(bytes, of: owner, &contents) { return .success(()) }
      // Removes the queue while it is changed, because a second reference would copy its array.
      var queue = contents.queues.removeValue(forKey: owner) ?? Queue()
      let isFull = queue.waiting.count >= waiting
      if !isFull { queue.waiting.append((number, bytes, waiter)) }
      update(owner, queue, &contents)
      return isFull ? .failure(PoolOverloadedError(pool: name, capacity: waiting)) : nil
    }
  }

  private func cancel(_ owner: Owner, _ number: UInt64) {
    let (cancelled, next) = contents.withLock { contents -> (Waiter?, [Waiter]) in
      guard !contents.isDraining else { return (nil, []) }
      guard let index = contents.queues[owner]?.waiting.firstIndex(where: { $0.number == number }),
        var queue = contents.queues.removeValue(forKey: owner)
      else {
        contents.cancelled.insert(number)
        return (nil, [])
      }
      let waiter = queue.waiting.remove(at: index).waiter
      update(owner, queue, &contents)
      return (waiter, passTurns(&contents))
    }
    cancelled?.resume(throwing: CancellationError())
    for waiter in next { waiter.resume() }
  }

  private func release(_ bytes: Int, of owner: Owner) {
    let next = contents.withLock { contents -> [Waiter] in
      guard var queue = contents.queues.removeValue(forKey: owner) else { return [] }
      queue.reserved -= bytes
      contents.reserved -= bytes
      update(owner, queue, &contents)
      return passTurns(&contents)
    }
    for waiter in next { waiter.resume() }
  }

  /// Keeps an owner's queue, and adds the owner to the turns or removes it from them.
  private func update(_ owner: Owner, _ queue: Queue, _ contents: inout Contents) {
    var queue = queue
    let hasTurn = queue.waiting.first.map { $0.bytes <= share - queue.reserved } ?? false
    if hasTurn, !queue.hasTurn { contents.turns.append(owner) }
    if !hasTurn, queue.hasTurn { contents.turns.removeAll { $0 == owner } }
    queue.hasTurn = hasTurn
    if queue.reserved > 0 || !queue.waiting.isEmpty { contents.queues[owner] = queue }
  }

  /// Reserves the memory of waiting work, as far as it fits. Returns the waiters of this work.
  private func passTurns(_ contents: inout Contents) -> [Waiter] {
    var waiters: [Waiter] = []
    while let owner = contents.turns.first, let bytes = contents.queues[owner]?.waiting.first?.bytes,
      bytes <= limit - contents.reserved, var queue = contents.queues.removeValue(forKey: owner)
    {
      contents.turns.removeFirst()
      queue.hasTurn = false
      waiters.append(queue.waiting.removeFirst().waiter)
      queue.reserved += bytes
      contents.reserved += bytes
      update(owner, queue, &contents)
    }
    return waiters
  }
}
