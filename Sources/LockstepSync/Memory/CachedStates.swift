import LockstepCollections
import LockstepThreading

/// States in two caches that share a capacity, so that large states never evict all small ones.
///
/// Large states get at most three quarters of the capacity. Small states get the rest, which is all
/// of it if there are no large ones.
struct CachedStates: Sendable {
  /// A state that costs more is large. Loading it takes over a millisecond.
  private static let largeCost = 256 * 1024
  /// At most this many users are known to have large states. The long reader loads these states.
  private static let knownUsers = 4_096

  private let capacity: Int
  private var small: GenerationalCache<UserID, CachedState>
  private var large: GenerationalCache<UserID, CachedState>
  private var knownLarge = GenerationalCache<UserID, Void>(capacity: Self.knownUsers)

  /// `capacity` is in bytes, approximately.
  init(capacity: Int) {
    self.capacity = capacity
    small = GenerationalCache(capacity: capacity, keepsDropped: true) { $0.cost }
    large = GenerationalCache(capacity: capacity / 4 * 3, keepsDropped: true) { $0.cost }
  }

  var count: Int { small.count + large.count }
  var cost: Int { small.cost + large.cost }

  /// The state of a user, who then counts as recently active.
  mutating func use(_ user: UserID) -> CachedState? {
    if let state = small.use(user) { return state }
    return large.count == 0 ? nil : large.use(user)
  }

  /// The state of a user, who does not count as active.
  func peek(_ user: UserID) -> CachedState? { small.peek(user) ?? (large.count == 0 ? nil : large.peek(user)) }

  /// Whether the user's last known state is large, even if it is no longer in memory.
  func isLarge(_ user: UserID) -> Bool { knownLarge.count > 0 && knownLarge.peek(user) != nil }

  /// Whether the user's state is not in memory, and is not known to be large.
  func needsShortLoad(_ user: UserID) -> Bool { peek(user) == nil && !isLarge(user) }

  mutating func insert(_ state: CachedState, for user: UserID) {
    if state.cost > Self.largeCost {
      small.remove(user)
      large.insert(state, for: user)
      knownLarge.insert(user)
      small.limit(to: capacity - large.cost)
    } else {
      if isLarge(user) {
        large.remove(user)
        knownLarge.remove(user)
        small.limit(to: capacity - large.cost)
      }
      small.insert(state, for: user)
    }
  }

  mutating func remove(_ user: UserID) {
    small.remove(user)
    large.remove(user)
    knownLarge.remove(user)
    small.limit(to: capacity - large.cost)
  }

  /// The states that were dropped since the last call. Release them outside the lock, because there
  /// may be many.
  mutating func takeDropped() -> (small: [UserID: CachedState], large: [UserID: CachedState]) {
    (small.takeDropped(), large.takeDropped())
  }
}
