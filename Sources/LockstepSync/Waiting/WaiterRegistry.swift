import LockstepHTTP
import Synchronization
import LockstepThreading

/// Everybody who waits for a state to change, by whose or what's it is (a user's, a screen's), and whoever brings them back.
///
/// Waiting costs a place in a table. Who is woken looks for themselves whether what they wait for has changed; being woken
/// for nothing does no harm.
package final class WaiterRegistry<Key: Hashable & Sendable>: Sendable {
  private struct Contents: Sendable {
    var seats: [Key: [UInt64: (any Waker)?]] = [:]
    var last: UInt64 = 0
  }

  /// So many locks, so that loops rarely meet at one.
  private static var shardCount: Int { 16 }

  private let limits: WaitingLimits
  private let shards: [LockedState<Contents>]
  private let taken = Atomic(0)
  private let wakings = Atomic(0)

  package init(_ limits: WaitingLimits) {
    self.limits = limits
    shards = (0..<Self.shardCount).map { _ in LockedState(Contents()) }
  }

  /// A place to wait for a state; nil where there are too many.
  package func seat(for key: Key) -> Seat? {
    guard taken.add(1, ordering: .relaxed).newValue <= limits.inAll else {
      taken.subtract(1, ordering: .relaxed)
      return nil
    }
    let number = shard(of: key).withLock { contents -> UInt64? in
      guard contents.seats[key]?.count ?? 0 < limits.perUser else { return nil }
      contents.last += 1
      contents.seats[key, default: [:]].updateValue(nil, forKey: contents.last)
      return contents.last
    }
    guard let number else {
      taken.subtract(1, ordering: .relaxed)
      return nil
    }
    return Seat(key: key, number: number, waiters: self)
  }

  /// A place to wait, given back when nobody holds it any more.
  package final class Seat: Sendable {
    let key: Key
    private let number: UInt64
    private let waiters: WaiterRegistry<Key>

    fileprivate init(key: Key, number: UInt64, waiters: WaiterRegistry<Key>) {
      self.key = key
      self.number = number
      self.waiters = waiters
    }

    deinit { waiters.leave(key, number) }

    /// From now on whoever has something to tell wakes this.
    package func wait(_ waker: any Waker) { waiters.wait(key, number, waker) }
  }

  /// Wakes who waits for a state.
  package func wake(_ key: Key) {
    let wakers = shard(of: key).withLock { contents in contents.seats[key]?.values.compactMap { $0 } ?? [] }
    wake(wakers)
  }

  /// Wakes everybody: what concerns all has changed.
  package func wakeAll() {
    for shard in shards {
      wake(shard.withLock { contents in contents.seats.values.flatMap { $0.values.compactMap { $0 } } })
    }
  }

  /// How many wait, and how often anybody was woken.
  package var metrics: (waiting: Int, wakings: Int) {
    (taken.load(ordering: .relaxed), wakings.load(ordering: .relaxed))
  }

  private func wake(_ wakers: [any Waker]) {
    wakings.add(wakers.count, ordering: .relaxed)
    var all = WakeBatch()
    for waker in wakers { waker.join(&all) }
    all.begin()
  }

  private func wait(_ key: Key, _ number: UInt64, _ waker: any Waker) {
    shard(of: key).withLock { _ = $0.seats[key]?.updateValue(waker, forKey: number) }
  }

  private func leave(_ key: Key, _ number: UInt64) {
    taken.subtract(1, ordering: .relaxed)
    shard(of: key).withLock { contents in
      // Looked up once: of thousands who are woken at a time each leaves.
      guard let index = contents.seats.index(forKey: key) else { return }
      contents.seats.values[index].removeValue(forKey: number)
      if contents.seats.values[index].isEmpty { contents.seats.remove(at: index) }
    }
  }

  private func shard(of key: Key) -> LockedState<Contents> {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
  }
}
