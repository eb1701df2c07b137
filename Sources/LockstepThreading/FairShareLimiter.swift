/// Lets nobody take more than their share of what all use, such as the threads of a pool.
///
/// - So many pieces of an owner's work are at it at once, at most; the rest waits, in the order in which it came, each owner's
///   behind their own and nobody else's.
/// - How much waits is bounded: beyond it `run` refuses at once.
/// - Who waits and is cancelled leaves, and their work is never begun. What was begun comes to its end.
public final class FairShareLimiter<Owner: Hashable & Sendable>: Sendable {
  private struct Queue: Sendable {
    var atWork = 0
    var waiting: [(number: UInt64, turn: CheckedContinuation<Void, any Error>)] = []
  }

  private struct Contents: Sendable {
    var queues: [Owner: Queue] = [:]
    var last: UInt64 = 0
    /// Who was cancelled on the way to the queue.
    var cancelled: Set<UInt64> = []
    var isLifted = false
  }

  private let name: String
  private let atOnce: Int
  private let waiting: Int
  private let contents = LockedState(Contents())

  /// - Parameters:
  ///   - name: What its errors call it.
  ///   - atOnce: How many pieces of an owner's work may be at it at once, at least 1.
  ///   - waiting: How many pieces of an owner's work may wait.
  public init(name: String, atOnce: Int, waiting: Int) {
    self.name = name
    self.atOnce = max(1, atOnce)
    self.waiting = waiting
  }

  /// Runs `work` when it's the owner's turn.
  ///
  /// It must not run more work of the same owner within: that could wait for itself.
  ///
  /// - Returns: what `work` returns.
  /// - Throws: what `work` throws; `WorkerPool.Overloaded` where too much of the owner's waits, `CancellationError` where
  ///   the task was cancelled before its turn came.
  nonisolated(nonsending) public func run<Result>(
    for owner: Owner,
    _ work: () async throws -> Result
  ) async throws -> Result {
    if !hasBegunAtOnce(owner) { try await turn(of: owner) }
    defer { leave(owner) }
    return try await work()
  }

  /// From now on nobody waits, whoever waits now has their turn, and cancelling them does nothing any more: for who wants all
  /// that was asked for done, and asks for no more.
  public func lift() {
    let turns = contents.withLock { contents in
      contents.isLifted = true
      var turns: [CheckedContinuation<Void, any Error>] = []
      for index in contents.queues.values.indices {
        turns += contents.queues.values[index].waiting.map(\.turn)
        contents.queues.values[index].atWork += contents.queues.values[index].waiting.count
        contents.queues.values[index].waiting = []
      }
      return turns
    }
    for turn in turns { turn.resume() }
  }

  /// How many pieces of an owner's work wait now.
  public func waiting(of owner: Owner) -> Int { contents.withLock { $0.queues[owner]?.waiting.count ?? 0 } }

  private func hasBegunAtOnce(_ owner: Owner) -> Bool {
    contents.withLock { contents in
      guard contents.isLifted || contents.queues[owner]?.atWork ?? 0 < atOnce else { return false }
      contents.queues[owner, default: Queue()].atWork += 1
      return true
    }
  }

  nonisolated(nonsending) private func turn(of owner: Owner) async throws {
    let number = contents.withLock { contents in
      contents.last += 1
      return contents.last
    }
    defer { _ = contents.withLock { $0.cancelled.remove(number) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { turn in
        if let outcome = enqueue(owner, number, turn) { turn.resume(with: outcome) }
      }
    } onCancel: {
      cancel(owner, number)
    }
  }

  /// Has somebody wait for their turn. Gives what they are told at once, if anything.
  private func enqueue(
    _ owner: Owner,
    _ number: UInt64,
    _ turn: CheckedContinuation<Void, any Error>
  ) -> Result<Void, any Error>? {
    contents.withLock { contents in
      if contents.cancelled.contains(number), !contents.isLifted { return .failure(CancellationError()) }
      var queue = contents.queues[owner] ?? Queue()
      // Somebody may have left meanwhile.
      if queue.atWork < atOnce || contents.isLifted {
        queue.atWork += 1
        contents.queues[owner] = queue
        return .success(())
      }
      guard queue.waiting.count < waiting else {
        return .failure(WorkerPool.Overloaded(pool: name, capacity: waiting))
      }
      queue.waiting.append((number, turn))
      contents.queues[owner] = queue
      return nil
    }
  }

  private func cancel(_ owner: Owner, _ number: UInt64) {
    let turn = contents.withLock { contents -> CheckedContinuation<Void, any Error>? in
      guard let index = contents.queues[owner]?.waiting.firstIndex(where: { $0.number == number }) else {
        contents.cancelled.insert(number)
        return nil
      }
      return contents.queues[owner]?.waiting.remove(at: index).turn
    }
    turn?.resume(throwing: CancellationError())
  }

  /// Hands the place of work that is done to the owner's next.
  private func leave(_ owner: Owner) {
    let next = contents.withLock { contents -> CheckedContinuation<Void, any Error>? in
      guard var queue = contents.queues[owner] else { return nil }
      // While it's worked on the queue is nowhere else: a second reference would have the array copied.
      contents.queues[owner] = nil
      if !queue.waiting.isEmpty {
        let next = queue.waiting.removeFirst().turn
        contents.queues[owner] = queue
        return next
      }
      queue.atWork -= 1
      if queue.atWork > 0 { contents.queues[owner] = queue }
      return nil
    }
    next?.resume()
  }
}
