import LockstepCollections
import LockstepThreading

/// States in two caches that share a capacity, so that large states never evict all small ones.
///
/// Large states get at most three quarters of the capacity. Small states get the rest, which is all
/// of it if there are no large ones.
struct CachedStates: Sendable {
  /// Evicted states.
  typealias Dropped = (small: [UserID: CachedState], large: [UserID: CachedState])

  private let capacity: Int
  private let largeUsers: LargeUsers
  private var small: GenerationalCache<UserID, CachedState>
  private var large: GenerationalCache<UserID, CachedState>

  /// `capacity` is in bytes, approximately.
  init(capacity: Int, largeUsers: LargeUsers) {
    self.capacity = capacity
    self.largeUsers = largeUsers
    small = GenerationalCache(capacity: capacity, keepsDropped: true) { $0.cost }
    large = GenerationalCache(capacity: capacity / 4 * 3, keepsDropped: true) { $0.cost }
  }

  var count: Int { small.count + large.count }
  var cost: Int { small.cost + large.cost }
  var all: [UserID: UserState] { small.all.merging(large.all) { small, _ in small }.mapValues(\.state) }

  /// The state of a user, who then counts as recently active.
  mutating func use(_ user: UserID) -> CachedState? {
    if let state = small.use(user) { return state }
    return large.count == 0 ? nil : large.use(user)
  }

  /// The state of a user, who does not count as active.
  func peek(_ user: UserID) -> CachedState? { small.peek(user) ?? (large.count == 0 ? nil : large.peek(user)) }

  mutating func insert(_ state: CachedState, for user: UserID) {
    if state.cost > LargeUsers.largeCost {
      small.remove(user)
      large.insert(state, for: user)
      largeUsers.insert(user)
      limitSmall()
    } else {
      if large.count > 0 {
        large.remove(user)
        limitSmall()
      }
      largeUsers.remove(user)
      small.insert(state, for: user)
    }
  }

  mutating func remove(_ user: UserID) {
    small.remove(user)
    large.remove(user)
    largeUsers.remove(user)
    limitSmall()
  }

  /// Removes all states, and returns the former contents, to be released outside the lock.
  mutating func removeAll() -> CachedStates {
    defer { self = CachedStates(capacity: capacity, largeUsers: largeUsers) }
    return self
  }

  /// A single large state may cost more than three quarters. Small states keep at least a quarter.
  private mutating func limitSmall() { small.limit(to: max(capacity / 4, capacity - large.cost)) }

  /// The states that were dropped since the last call. Release them outside the lock, because there
  /// may be many.
  mutating func takeDropped() -> Dropped { (small.takeDropped(), large.takeDropped()) }
}
