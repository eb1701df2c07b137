/// Limits how much memory the data of all owners takes, from before the data is made until it is freed. One
/// owner gets at most a share. Work that does not fit waits: see `FairShareLimiter`.
package final class MemoryLimiter<Owner: Hashable & Sendable>: Sendable {
  /// Counts memory as in use until the last reference to this object is gone.
  package final class Reservation: Sendable {
    private let limiter: FairShareLimiter<Owner>
    private let owner: Owner
    private let bytes: Int

    fileprivate init(_ bytes: Int, of owner: Owner, in limiter: FairShareLimiter<Owner>) {
      (self.bytes, self.owner, self.limiter) = (bytes, owner, limiter)
    }

    deinit { limiter.giveBack(bytes, of: owner) }
  }

  private let limiter: FairShareLimiter<Owner>
  private let share: Int

  /// Errors contain `name`. `waiting` limits each owner's queue.
  package init(name: String, limit: Int = .max, share: Int, waiting: Int) {
    self.share = min(share, limit)
    limiter = FairShareLimiter(name: name, limit: limit, share: self.share, waiting: waiting)
  }

  /// Reserves memory. More than an owner's share counts as the whole share. Throws `PoolOverloadedError`
  /// if the owner's queue is full, and `CancellationError` if the task is cancelled in the queue.
  nonisolated(nonsending) package func reserve(_ bytes: Int, for owner: Owner) async throws -> Reservation {
    let bytes = min(bytes, share)
    try await limiter.take(bytes, for: owner)
    return Reservation(bytes, of: owner, in: limiter)
  }

  /// Reserves memory if that is possible without waiting.
  package func reserveNow(_ bytes: Int, for owner: Owner) -> Reservation? {
    let bytes = min(bytes, share)
    return limiter.takeNow(bytes, for: owner) ? Reservation(bytes, of: owner, in: limiter) : nil
  }

  /// From now on, tasks in the queue cannot be cancelled. For a shutdown that finishes all requested work.
  package func drain() { limiter.drain() }

  package var reserved: Int { limiter.taken }

  /// How much work of all owners waits.
  package var waitingCount: Int { limiter.waitingCount }
}
