import LockstepCollections

/// Users' states in two generations: whoever is asked for comes into the young one, and when that is half of what there is
/// room for, the old one goes and the young one grows old. So who was asked for lately stays, and nothing is ever sorted.
struct GenerationalCache: Sendable {
  private let capacity: Int
  private var young: [UserID: CachedState] = [:]
  private var old: [UserID: CachedState] = [:]
  private var youngCost = 0
  private var oldCost = 0
  private var dropped: [UserID: CachedState] = [:]

  init(capacity: Int) {
    self.capacity = capacity
  }

  var count: Int { young.count + old.count }
  var cost: Int { youngCost + oldCost }

  /// The user's state, which stays a while longer for it.
  mutating func use(_ user: UserID) -> CachedState? {
    if let hot = young[user] { return hot }
    guard let hot = old.removeValue(forKey: user) else { return nil }
    oldCost -= hot.cost
    insert(hot, of: user)
    return hot
  }

  /// The user's state, without having asked for it.
  func peek(_ user: UserID) -> CachedState? { young[user] ?? old[user] }

  /// Puts a state in the place of the one before.
  mutating func insert(_ hot: CachedState, of user: UserID) {
    remove(user)
    if youngCost + hot.cost > capacity / 2 { growOld() }
    young[user] = hot
    youngCost += hot.cost
  }

  mutating func remove(_ user: UserID) {
    if let hot = young.removeValue(forKey: user) { youngCost -= hot.cost }
    if let hot = old.removeValue(forKey: user) { oldCost -= hot.cost }
  }

  /// Hands over what has gone, for the caller to let go of when nobody waits for it.
  mutating func takeDropped() -> [UserID: CachedState] {
    guard !dropped.isEmpty else { return [:] }
    defer { dropped = [:] }
    return dropped
  }

  private mutating func growOld() {
    dropped = old
    old = young
    oldCost = youngCost
    young = [:]
    youngCost = 0
  }
}
