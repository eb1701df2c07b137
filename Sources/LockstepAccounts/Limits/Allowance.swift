/// How often something may be done: so many times at once, then once in every interval.
public struct Allowance: Sendable, Equatable {
  /// How many times at once, at least 1.
  public var burst: Int
  /// How long until one more is allowed.
  public var interval: Duration

  /// An allowance of its parts.
  public init(burst: Int, every interval: Duration) {
    self.burst = max(1, burst)
    self.interval = interval
  }

  /// How far ahead of now the last use of a full burst lies.
  var reach: Duration { interval * (burst - 1) }
}

/// How much of their allowances keys have used: one moment for each, the one at which all of it is there again (the
/// generic cell rate algorithm). A key that has all of it takes no room.
///
/// Never more than `capacity` keys are kept. When there are more, those that have the most left are forgotten first: a
/// flood of new keys can't wash out the one that is at its end.
struct AllowanceTable<Key: Hashable & Sendable>: Sendable {
  private let capacity: Int
  private var restoredAt: [Key: Duration] = [:]

  init(capacity: Int) {
    self.capacity = max(4, capacity)
  }

  var count: Int { restoredAt.count }

  /// How long the key has to wait for its next use; zero when it may now.
  func wait(for key: Key, _ allowance: Allowance, now: Duration) -> Duration {
    guard let restored = restoredAt[key] else { return .zero }
    return max(.zero, restored - now - allowance.reach)
  }

  /// Counts a use, allowed or not.
  mutating func use(_ key: Key, _ allowance: Allowance, now: Duration) {
    if restoredAt[key] == nil, restoredAt.count >= capacity { makeRoom(now: now) }
    restoredAt[key] = max(restoredAt[key] ?? now, now) + allowance.interval
  }

  /// Takes a use back.
  mutating func giveBack(_ key: Key, _ allowance: Allowance, now: Duration) {
    guard let restored = restoredAt[key] else { return }
    let earlier = restored - allowance.interval
    restoredAt[key] = earlier > now ? earlier : nil
  }

  /// Forgets those that have everything, and where that isn't enough the quarter that has the most left: so that the cost
  /// of looking through all of them is shared by many uses.
  private mutating func makeRoom(now: Duration) {
    restoredAt = restoredAt.filter { $0.value > now }
    guard restoredAt.count > capacity * 3 / 4 else { return }
    let byMoment = restoredAt.sorted { $0.value < $1.value }
    for (key, _) in byMoment.prefix(byMoment.count - capacity * 3 / 4) { restoredAt[key] = nil }
  }
}
