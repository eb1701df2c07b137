import LockstepHTTP
import LockstepJSON
import LockstepThreading
import Synchronization

/// A request that waits, as an administrator sees it.
package struct WaitingRequest: Sendable {
  /// The connection has this object anyway, as long as the request waits.
  package let head: RequestHead
  /// The address of the client.
  package let address: String
  /// When the request arrived, in nanoseconds of the server's monotonic clock.
  package let arrival: Int64
  /// The id of the request's service token; nil for a user's request.
  let serviceToken: String?

  package init(_ request: Request, by serviceToken: String? = nil) {
    (head, address, arrival) = (request.head, request.peer.host, request.arrival)
    self.serviceToken = serviceToken
  }
}

/// The place of a waiter among the limited number. Releasing this object frees the place.
package final class WaiterSeat: Sendable {
  private let list: WaiterList
  private let place: Int

  init(_ list: WaiterList, place: Int) {
    self.list = list
    self.place = place
  }

  deinit { list.leave(place) }

  /// From now on, changes of the state wake `waker`.
  package func wait(_ waker: any Waker) { list.set(waker, at: place) }
}

/// The waiters of one state.
///
/// This type does not depend on the type of the state's key: each request that waits uses it three
/// times, and code of a generic type that the compiler cannot specialize takes several times as
/// long.
///
/// `@unchecked Sendable`: the variables are accessed only while `lock` is held.
final class WaiterList: @unchecked Sendable {
  private let lock: LockedState<Int>
  private let counts: WaiterCounts
  private let removeEmpty: () -> Void
  /// The waker of each place; nil if the place is free or its waiter is not parked.
  private(set) var wakers: [(any Waker)?] = []
  /// The request of each place; nil if the place is free.
  private(set) var requests: [WaitingRequest?] = []
  private var free: [Int] = []

  /// `removeEmpty` is called when the last waiter has left, while the lock is held.
  init(lock: LockedState<Int>, _ counts: WaiterCounts, removeEmpty: @escaping () -> Void) {
    self.lock = lock
    self.counts = counts
    self.removeEmpty = removeEmpty
  }

  /// The number of waiters. Hold the lock.
  private var count: Int { wakers.count - free.count }

  /// The number of waiters without a service token. Hold the lock.
  var countOfUser: Int { count - ofServiceTokens }
  private var ofServiceTokens = 0

  /// Hold the lock.
  func takePlace(for request: WaitingRequest) -> Int {
    if request.serviceToken != nil { ofServiceTokens += 1 }
    if let place = free.popLast() {
      requests[place] = request
      return place
    }
    wakers.append(nil)
    requests.append(request)
    return wakers.count - 1
  }

  func set(_ waker: any Waker, at place: Int) {
    lock.withLock { _ in wakers[place] = waker }
  }

  fileprivate func leave(_ place: Int) {
    counts.taken.subtract(1, ordering: .relaxed)
    let serviceToken = lock.withLock { _ in
      let serviceToken = requests[place]?.serviceToken
      if serviceToken != nil { ofServiceTokens -= 1 }
      wakers[place] = nil
      requests[place] = nil
      free.append(place)
      if count == 0 { removeEmpty() }
      return serviceToken
    }
    if let serviceToken { counts.leave(serviceToken) }
  }
}

/// The counts of a registry.
final class WaiterCounts: Sendable {
  let taken = Atomic(0)
  let wakings = Atomic(0)
  private let byServiceToken = LockedState<[ExactText: Int]>([:])

  /// Counts a waiter of a service token; false if the token has too many.
  func enter(_ serviceToken: String) -> Bool {
    byServiceToken.withLock { counts in
      let serviceToken = serviceToken.exact
      guard counts[serviceToken, default: 0] < WaitingLimits.perServiceToken else { return false }
      counts[serviceToken, default: 0] += 1
      return true
    }
  }

  func leave(_ serviceToken: String) {
    byServiceToken.withLock { counts in
      let serviceToken = serviceToken.exact
      let left = counts[serviceToken, default: 1] - 1
      counts[serviceToken] = left == 0 ? nil : left
    }
  }

  /// The batch that wakes the connections of all these waiters. Consumes the wakers: if they were
  /// still in use when the batch begins, the first waiter to leave would copy them all.
  func batch(of wakers: consuming [(any Waker)?]) -> WakeBatch {
    var batch = WakeBatch()
    var count = 0
    for case let waker? in wakers {
      waker.join(&batch)
      count += 1
    }
    wakings.add(count, ordering: .relaxed)
    return batch
  }
}
