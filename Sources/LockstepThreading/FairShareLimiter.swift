/// Limits how much of something one owner uses at once, such as threads or memory, so that an owner cannot use
/// all of it. All owners together may have a limit too. Work that does not fit waits in the owner's bounded
/// queue. An owner's work keeps its order, and the owners whose first work fits into their share take turns. A
/// waiting task that is cancelled leaves the queue. Work that has begun always finishes.
///
/// With `inAll`, all owners together also have a limit on their work that runs or waits. An owner
/// and the owners of a network get their `FairShare` of it. Use it for work that no connection waits
/// for, because nothing else limits how many owners there are.
package final class FairShareLimiter<Owner: Hashable & Sendable>: Sendable {
  private typealias Waiter = CheckedContinuation<Void, any Error>

  private struct Queue: Sendable {
    /// How much the owner's work uses.
    var taken = 0
    var waiting: [(number: UInt64, amount: Int, waiter: Waiter)] = []
    /// Whether the owner is among `Contents.turns`.
    var hasTurn = false
  }

  private struct Contents: Sendable {
    var taken = 0
    var queues: [Owner: Queue] = [:]
    /// The owners whose first waiting work fits into their share, in the order of their turns.
    var turns: [Owner] = []
    var lastNumber: UInt64 = 0
    /// Tasks that were cancelled before they reached their queue.
    var cancelled: Set<UInt64> = []
    var isLifted = false
    /// Whether waiting tasks can no longer be cancelled.
    var isDraining = false
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
  }

  private let name: String
  private let limit: Int
  private let share: Int
  private let waiting: Int
  private let inAll: Int?
  private let contents = LockedState(Contents())

  private init(name: String, limit: Int, share: Int, waiting: Int, inAll: Int?) {
    (self.name, self.limit, self.share, self.waiting, self.inAll) = (name, limit, share, waiting, inAll)
  }

  /// Errors contain `name`. An owner may use a `share` of `limit`. `waiting` limits each owner's queue.
  convenience init(name: String, limit: Int, share: Int, waiting: Int) {
    self.init(name: name, limit: limit, share: share, waiting: waiting, inAll: nil)
  }

  /// Limits how much work of an owner runs at once. `atOnce` below 1 counts as 1.
  package convenience init(name: String, atOnce: Int, waiting: Int) {
    self.init(name: name, limit: .max, share: max(1, atOnce), waiting: waiting, inAll: nil)
  }

  /// `inAll` limits the work of all owners that runs or waits.
  package convenience init(name: String, atOnce: Int, inAll: Int) {
    self.init(name: name, limit: .max, share: max(1, atOnce), waiting: inAll, inAll: inAll)
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
    try await take(1, for: owner)
    defer { giveBack(1, of: owner) }
    return try await work()
  }

  /// Takes an amount, at most the owner's share, when the limits permit it. Call `giveBack` afterwards. Throws
  /// like `run`.
  nonisolated(nonsending) func take(_ amount: Int, for owner: Owner) async throws {
    if !takeNow(amount, for: owner) { try await waitForTurn(amount, of: owner) }
  }

  /// Takes an amount if that is possible without waiting.
  func takeNow(_ amount: Int, for owner: Owner) -> Bool { contents.withLock { begins(amount, of: owner, &$0) } }

  func giveBack(_ amount: Int, of owner: Owner) {
    let next = contents.withLock { contents -> [Waiter] in
      guard var queue = contents.queues.removeValue(forKey: owner) else { return [] }
      queue.taken -= amount
      contents.taken -= amount
      update(owner, queue, &contents)
      return passTurns(&contents)
    }
    for waiter in next { waiter.resume() }
  }

  /// From now on, waiting tasks cannot be cancelled. For a shutdown that finishes all requested work.
  func drain() { contents.withLock { $0.isDraining = true } }

  var taken: Int { contents.withLock { $0.taken } }

  /// Removes the limit permanently: waiting work starts now, and its tasks can no longer be cancelled.
  /// For a shutdown that finishes all requested work.
  package func lift() {
    let waiters = contents.withLock { contents in
      (contents.isLifted, contents.isDraining) = (true, true)
      for (owner, queue) in contents.queues { update(owner, queue, &contents) }
      return passTurns(&contents)
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

  private func begins(_ amount: Int, of owner: Owner, _ contents: inout Contents) -> Bool {
    // Work that waits for its turn is first.
    guard contents.turns.isEmpty, amount <= limit - contents.taken else { return false }
    var queue = contents.queues[owner] ?? Queue()
    guard queue.waiting.isEmpty, contents.isLifted || amount <= share - queue.taken else { return false }
    queue.taken += amount
    contents.taken += amount
    contents.queues[owner] = queue
    return true
  }

  nonisolated(nonsending) private func waitForTurn(_ amount: Int, of owner: Owner) async throws {
    let number = contents.withLock { contents in
      contents.lastNumber += 1
      return contents.lastNumber
    }
    defer { _ = contents.withLock { $0.cancelled.remove(number) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        if let result = enqueue(amount, of: owner, number, waiter) { waiter.resume(with: result) }
      }
    } onCancel: {
      cancel(owner, number)
    }
  }

  /// Adds a waiter to the owner's queue, or returns its result at once.
  private func enqueue(
    _ amount: Int,
    of owner: Owner,
    _ number: UInt64,
    _ waiter: Waiter
  ) -> Result<Void, any Error>? {
    contents.withLock { contents in
      if contents.cancelled.contains(number), !contents.isDraining { return .failure(CancellationError()) }
      // Other work may have finished in the meantime.
      if begins(amount, of: owner, &contents) { return .success(()) }
      // Removes the queue while it is changed, because a second reference would copy its array.
      var queue = contents.queues.removeValue(forKey: owner) ?? Queue()
      let isFull = queue.waiting.count >= waiting
      if !isFull { queue.waiting.append((number, amount, waiter)) }
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

  /// Keeps an owner's queue, and adds the owner to the turns or removes it from them.
  private func update(_ owner: Owner, _ queue: Queue, _ contents: inout Contents) {
    var queue = queue
    let hasTurn = queue.waiting.first.map { contents.isLifted || $0.amount <= share - queue.taken } ?? false
    if hasTurn, !queue.hasTurn { contents.turns.append(owner) }
    if !hasTurn, queue.hasTurn { contents.turns.removeAll { $0 == owner } }
    queue.hasTurn = hasTurn
    contents.queues[owner] = queue.taken > 0 || !queue.waiting.isEmpty ? queue : nil
  }

  /// Begins waiting work, as far as it fits. Returns its waiters.
  private func passTurns(_ contents: inout Contents) -> [Waiter] {
    var waiters: [Waiter] = []
    while let owner = contents.turns.first, let amount = contents.queues[owner]?.waiting.first?.amount,
      amount <= limit - contents.taken, var queue = contents.queues.removeValue(forKey: owner)
    {
      contents.turns.removeFirst()
      queue.hasTurn = false
      waiters.append(queue.waiting.removeFirst().waiter)
      queue.taken += amount
      contents.taken += amount
      update(owner, queue, &contents)
    }
    return waiters
  }
}
