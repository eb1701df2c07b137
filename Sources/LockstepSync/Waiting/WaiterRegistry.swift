import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepThreading
import Synchronization

/// The waiters of each state, by the state's key: a user or a screen.
///
/// A notified waiter compares the state itself. So a notification without a change does no harm.
package final class WaiterRegistry<Key: Hashable & Sendable>: Sendable {
  /// A part of the waiters. Its lists use its lock too, so the lock does not contain them.
  ///
  /// `@unchecked Sendable`: `lists` is accessed only while `lock` is held.
  private final class Shard: @unchecked Sendable {
    /// The number is not used. It is there because the thread sanitizer cannot tell a state without
    /// bytes from the object around it.
    let lock = LockedState(0)
    /// The states that have waiters.
    var lists: [Key: WaiterList] = [:]
  }

  /// The number of locks, so that event loops rarely contend for one.
  private static var shardCount: Int { 16 }

  private let limits: WaitingLimits
  private let shards: [Shard]
  private let counts = WaiterCounts()

  package init(_ limits: WaitingLimits) {
    self.limits = limits
    shards = (0..<Self.shardCount).map { _ in Shard() }
  }

  /// Takes a seat for a waiter; nil if too many seats are taken.
  package func seat(for key: Key, _ request: WaitingRequest) -> WaiterSeat? {
    guard counts.taken.add(1, ordering: .relaxed).newValue <= limits.inAll else {
      counts.taken.subtract(1, ordering: .relaxed)
      return nil
    }
    let serviceToken = request.serviceToken
    let mayWait = serviceToken.map(counts.enter) ?? true
    let shard = shard(of: key)
    let seat =
      !mayWait
      ? nil
      : shard.lock.withLock { _ -> WaiterSeat? in
        let known = shard.lists[key]
        guard serviceToken != nil || known?.countOfUser ?? 0 < limits.perUser else { return nil }
        let list = known ?? list(of: key, in: shard)
        return WaiterSeat(list, place: list.takePlace(for: request))
      }
    if seat == nil { counts.taken.subtract(1, ordering: .relaxed) }
    return seat
  }

  package func wake(_ key: Key) {
    if counts.taken.load(ordering: .acquiring) == 0 { return }
    let shard = shard(of: key)
    guard let wakers = shard.lock.withLock({ _ in shard.lists[key]?.wakers }) else { return }
    counts.batch(of: consume wakers).begin()
  }

  /// Notifies all waiters, after a change that concerns all of them.
  package func wakeAll() {
    for shard in shards {
      counts.batch(of: shard.lock.withLock { _ in shard.lists.values.flatMap(\.wakers) }).begin()
    }
  }

  /// All requests that have seats.
  package var requests: [(key: Key, request: WaitingRequest)] {
    shards.flatMap { shard in
      shard.lock.withLock { _ in
        shard.lists.flatMap { key, list in list.requests.compactMap { $0 }.map { (key, $0) } }
      }
    }
  }

  package var metrics: (waiting: Int, wakings: Int) {
    (counts.taken.load(ordering: .relaxed), counts.wakings.load(ordering: .relaxed))
  }

  /// Adds the list of a state that has had no waiters.
  private func list(of key: Key, in shard: Shard) -> WaiterList {
    let list = WaiterList(lock: shard.lock, counts) { shard.lists[key] = nil }
    shard.lists[key] = list
    return list
  }

  private func shard(of key: Key) -> Shard {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
  }
}

extension WaiterRegistry: CommitObserver, AccountsObserver where Key == UserID {
  package func stateCommitted(_ state: UserState, of user: UserID) { wake(user) }
  package func stateForgotten(of user: UserID) { wake(user) }
  package func registeredDefaultsCommitted(_ registered: RegisteredDefaults) { wakeAll() }
  package func everythingChanged() { wakeAll() }
  // Requests of an ended session stop waiting. Waiters are not recorded by session, because sessions rarely end.
  package func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) { for user in users { wake(user) } }
  package func serviceTokenDeleted() { wakeAll() }
}
