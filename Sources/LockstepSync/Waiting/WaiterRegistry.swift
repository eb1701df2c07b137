import LockstepHTTP
import Synchronization
import LockstepThreading

/// The waiters of each state, by the state's key: a user or a screen.
///
/// A notified waiter compares the state itself. So a notification without a change does no harm.
package final class WaiterRegistry<Key: Hashable & Sendable>: Sendable {
  private struct Contents: Sendable {
    var seats: [Key: [UInt64: (any Waker)?]] = [:]
    var last: UInt64 = 0
  }

  /// The number of locks, so that event loops rarely contend for one.
  private static var shardCount: Int { 16 }

  private let limits: WaitingLimits
  private let shards: [LockedState<Contents>]
  private let taken = Atomic(0)
  private let wakings = Atomic(0)

  package init(_ limits: WaitingLimits) {
    self.limits = limits
    shards = (0..<Self.shardCount).map { _ in LockedState(Contents()) }
  }

  /// Takes a seat for a waiter; nil if too many seats are taken.
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
    return Seat(key: key, number: number, registry: self)
  }

  /// The place of a waiter among the limited number. Releasing this object frees the place.
  package final class Seat: Sendable {
    let key: Key
    private let number: UInt64
    private let registry: WaiterRegistry<Key>

    fileprivate init(key: Key, number: UInt64, registry: WaiterRegistry<Key>) {
      self.key = key
      self.number = number
      self.registry = registry
    }

    deinit { registry.leave(key, number) }

    /// From now on, changes of the state wake `waker`.
    package func wait(_ waker: any Waker) {
      registry.shard(of: key).withLock { _ = $0.seats[key]?.updateValue(waker, forKey: number) }
    }
  }

  package func wake(_ key: Key) {
    if taken.load(ordering: .acquiring) == 0 { return }
    let wakers = shard(of: key).withLock { contents in contents.seats[key]?.values.compactMap { $0 } ?? [] }
    wake(wakers)
  }

  /// Notifies all waiters, after a change that concerns all of them.
  package func wakeAll() {
    for shard in shards {
      wake(shard.withLock { contents in contents.seats.values.flatMap { $0.values.compactMap { $0 } } })
    }
  }

  package var metrics: (waiting: Int, wakings: Int) {
    (taken.load(ordering: .relaxed), wakings.load(ordering: .relaxed))
  }

  private func wake(_ wakers: [any Waker]) {
    wakings.add(wakers.count, ordering: .relaxed)
    var all = WakeBatch()
    for waker in wakers { waker.join(&all) }
    all.begin()
  }

  private func leave(_ key: Key, _ number: UInt64) {
    taken.subtract(1, ordering: .relaxed)
    shard(of: key).withLock { contents in
      // Looked up once, because thousands of waiters may leave at the same time.
      guard let index = contents.seats.index(forKey: key) else { return }
      contents.seats.values[index].removeValue(forKey: number)
      if contents.seats.values[index].isEmpty { contents.seats.remove(at: index) }
    }
  }

  private func shard(of key: Key) -> LockedState<Contents> {
    shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
  }
}
