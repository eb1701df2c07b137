/// How much of its rate limit each key has used. When `capacity` is reached, the table evicts the
/// keys with the most requests left. So a flood of new keys does not evict a key that has used up
/// its limit.
struct RateTable<Key: Hashable & Sendable>: Sendable {
  private let capacity: Int
  /// When the whole burst of a key is available again, in nanoseconds.
  private var restored: [Key: Int64] = [:]

  init(capacity: Int) {
    self.capacity = max(4, capacity)
  }

  var count: Int { restored.count }

  /// The nanoseconds until the key's next use; zero if it is allowed now.
  func wait(for key: Key, _ limit: RateLimit, at now: Int64) -> Int64 {
    restored[key].map { max(0, limit.wait($0, at: now)) } ?? 0
  }

  /// Counts a use, allowed or not.
  mutating func use(_ key: Key, _ limit: RateLimit, at now: Int64) {
    if restored[key] == nil, restored.count >= capacity { makeRoom(at: now) }
    restored[key] = limit.restored(after: restored[key] ?? now, at: now)
  }

  mutating func giveBack(_ key: Key, _ limit: RateLimit, at now: Int64) {
    guard let moment = restored[key] else { return }
    restored[key] = moment - limit.interval > now ? moment - limit.interval : nil
  }

  /// Evicts the keys whose whole burst is available. If that is not enough, it evicts the keys
  /// with the most requests left until a quarter is free. The table sorts once for many new
  /// keys, so each key costs little.
  private mutating func makeRoom(at now: Int64) {
    restored = restored.filter { $0.value > now }
    guard restored.count > capacity * 3 / 4 else { return }
    let byMoment = restored.sorted { $0.value < $1.value }
    for (key, _) in byMoment.prefix(byMoment.count - capacity * 3 / 4) { restored[key] = nil }
  }
}
