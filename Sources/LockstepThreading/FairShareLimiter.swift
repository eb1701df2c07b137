/// Limits how much work of one owner runs at once, so that an owner cannot use all of a shared
/// pool. Work beyond the limit waits in the order of its arrival, in the owner's bounded queue. A
/// waiting task that is cancelled leaves the queue. Work that has begun always finishes.
///
/// With `inAll`, all owners together also have a limit on their work that runs or waits. An owner
/// and the owners of a network get their `FairShare` of it. Use it for work that no connection waits
/// for, because nothing else limits how many owners there are.
package final class FairShareLimiter<Owner: Hashable & Sendable>: Sendable {
  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct Queue: Sendable {
    var running = 0
    var waiting: [(number: UInt64, waiter: Waiter)] = []
  }

  private struct Contents: Sendable {
    var queues: [Owner: Queue] = [:]
    var lastNumber: UInt64 = 0
    /// Tasks that were cancelled before they reached their queue.
    var cancelled: Set<UInt64> = []
    var isLifted = false
    /// The work that runs or waits, of all owners and of each network. Counted only with `inAll`.
    var admitted = 0
    var networks: [Int: Int] = [:]
    var admittedOfOwner: [Owner: Int] = [:]

    mutating func admit(_ owner: Owner, _ network: Int?, upTo limit: Int) -> Bool {
      let ofNetwork = network.map { networks[$0] ?? 0 }
      guard FairShare.hasPlace(of: limit, taken: admitted, byNetwork: ofNetwork, byOwner: admittedOfOwner[owner] ?? 0)
      else { return false }
      admitted += 1
      admittedOfOwner[owner, default: 0] += 1
      if let network { networks[network, default: 0] += 1 }
      return true
    }

    mutating func leave(_ owner: Owner, _ network: Int?) {
      admitted -= 1
      Self.decrease(&admittedOfOwner, owner)
      if let network { Self.decrease(&networks, network) }
    }

    private static func decrease<Key: Hashable>(_ counts: inout [Key: Int], _ key: Key) {
      let rest = (counts[key] ?? 1) - 1
      counts[key] = rest == 0 ? nil : rest
    }

    mutating func begins(_ owner: Owner, atOnce: Int) -> Bool {
      guard isLifted || queues[owner]?.running ?? 0 < atOnce else { return false }
      queues[owner, default: Queue()].running += 1
      return true
    }
  }

  private let name: String
  private let atOnce: Int
  private let waiting: Int
  private let inAll: Int?
  private let contents = LockedState(Contents())

  /// Errors contain `name`. `atOnce` below 1 counts as 1. `waiting` limits each owner's queue.
  package init(name: String, atOnce: Int, waiting: Int) {
    self.name = name
    self.atOnce = max(1, atOnce)
    self.waiting = waiting
    inAll = nil
  }

  /// `inAll` limits the work of all owners that runs or waits.
  package init(name: String, atOnce: Int, inAll: Int) {
    self.name = name
    self.atOnce = max(1, atOnce)
    waiting = inAll
    self.inAll = inAll
  }

  /// Runs `work` when the owner's limit permits it. `work` must not call `run` for the same owner,
  /// because it could wait for itself. Throws `PoolOverloadedError` if the queue is full, and
  /// `CancellationError` if the task is cancelled in the queue. With `inAll`, the work also
  /// counts for `network`.
  nonisolated(nonsending) package func run<Result>(
    for owner: Owner,
    from network: Int? = nil,
    _ work: () async throws -> Result
  ) async throws -> Result {
    if let inAll, !contents.withLock({ $0.admit(owner, network, upTo: inAll) }) {
      throw PoolOverloadedError(pool: name, capacity: inAll)
    }
    defer { if inAll != nil { leave(owner, network) } }
    if !contents.withLock({ $0.begins(owner, atOnce: atOnce) }) { try await waitForTurn(of: owner) }
    defer { finish(owner) }
    return try await work()
  }

  /// Removes the limit permanently: waiting work starts now, and its tasks can no longer be cancelled.
  /// For a shutdown that finishes all requested work.
  package func lift() {
    let waiters = contents.withLock { contents in
      contents.isLifted = true
      var waiters: [Waiter] = []
      for index in contents.queues.values.indices {
        waiters += contents.queues.values[index].waiting.map(\.waiter)
        contents.queues.values[index].running += contents.queues.values[index].waiting.count
        contents.queues.values[index].waiting = []
      }
      return waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  package var isLifted: Bool { contents.withLock { $0.isLifted } }

  /// Whether work of the owner runs. Usually there is none at all, and `isEmpty` saves a slow look-up,
  /// because this code is not specialized for the owner.
  package func isRunning(_ owner: Owner) -> Bool {
    contents.withLock { !$0.queues.isEmpty && $0.queues[owner] != nil }
  }

  /// Whether work of the owner waits for its turn. Fast if there is no work at all, like `isRunning`.
  package func isWaiting(_ owner: Owner) -> Bool {
    contents.withLock { !$0.queues.isEmpty && $0.queues[owner]?.waiting.isEmpty == false }
  }

  /// Blocks until no work runs or waits, or until the time is over. Only with `inAll`.
  package func waitUntilIdle(atMost nanoseconds: Int64) {
    _ = contents.wait(atMost: nanoseconds) { $0.admitted == 0 ? () : nil }
  }

  private func leave(_ owner: Owner, _ network: Int?) {
    let isIdle = contents.withLock { contents in
      contents.leave(owner, network)
      return contents.admitted == 0
    }
    if isIdle { contents.wakeAll() }
  }

  /// How much work of all owners waits for its turn.
  package var waitingCount: Int { contents.withLock { $0.queues.values.reduce(0) { $0 + $1.waiting.count } } }

  package func waiting(of owner: Owner) -> Int { contents.withLock { $0.queues[owner]?.waiting.count ?? 0 } }

  nonisolated(nonsending) private func waitForTurn(of owner: Owner) async throws {
    let number = contents.withLock { contents in
      contents.lastNumber += 1
      return contents.lastNumber
    }
    defer { _ = contents.withLock { $0.cancelled.remove(number) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        if let result = enqueue(owner, number, waiter) { waiter.resume(with: result) }
      }
    } onCancel: {
      cancel(owner, number)
    }
  }

  /// Adds a waiter to the owner's queue, or returns its result at once.
  private func enqueue(_ owner: Owner, _ number: UInt64, _ waiter: Waiter) -> Result<Void, any Error>? {
    contents.withLock { contents in
      if contents.cancelled.contains(number), !contents.isLifted { return .failure(CancellationError()) }
      // Other work may have finished in the meantime.
      if contents.begins(owner, atOnce: atOnce) { return .success(()) }
      guard contents.queues[owner]?.waiting.count ?? 0 < waiting else {
        return .failure(PoolOverloadedError(pool: name, capacity: waiting))
      }
      contents.queues[owner, default: Queue()].waiting.append((number, waiter))
      return nil
    }
  }

  private func cancel(_ owner: Owner, _ number: UInt64) {
    let waiter = contents.withLock { contents -> Waiter? in
      guard let index = contents.queues[owner]?.waiting.firstIndex(where: { $0.number == number }) else {
        contents.cancelled.insert(number)
        return nil
      }
      return contents.queues[owner]?.waiting.remove(at: index).waiter
    }
    waiter?.resume(throwing: CancellationError())
  }

  /// Passes the place of finished work to the owner's next waiter.
  private func finish(_ owner: Owner) {
    let next = contents.withLock { contents -> Waiter? in
      guard var queue = contents.queues[owner] else { return nil }
      // Removes the queue while it is changed, because a second reference would copy its array.
      contents.queues[owner] = nil
      if !queue.waiting.isEmpty {
        let next = queue.waiting.removeFirst().waiter
        contents.queues[owner] = queue
        return next
      }
      queue.running -= 1
      if queue.running > 0 { contents.queues[owner] = queue }
      return nil
    }
    next?.resume()
  }
}
