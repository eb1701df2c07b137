/// The owner of units. Units of one owner run in the order of submission, and share a limit on the
/// writer's time.
@usableFromInline
package struct WriteOwner: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64

  /// An owner with a unique number of 128 bits.
  package init(_ high: UInt64, _ low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// Holds back units of slow owners, so that they do not delay other owners.
///
/// An owner whose units took long in one group is throttled: its next units run alone. If other
/// owners write, a throttled unit waits nine times as long as the last throttled one took. So all
/// throttled owners together get a tenth of the writer's time, or all of it if no other owner
/// writes. An owner that wrote recently counts as writing, because clients pause between two
/// writes. An owner is no longer throttled after a quick unit, if none of its units wait.
struct WriteThrottle {
  /// The time in one group that makes an owner slow, in nanoseconds.
  static let slowTime: Int64 = 10_000_000
  /// In nanoseconds. Units that take less time do not count.
  private static let countedTime: Int64 = 500_000
  /// How many throttled units of all owners together may wait.
  static let capacity = 256
  /// How long a throttled unit waits: this many times the duration of the last throttled unit, up
  /// to `longestRest` nanoseconds.
  private static let rest: Int64 = 9
  private static let longestRest: Int64 = 5_000_000_000
  /// How long an owner counts as writing after a unit, in nanoseconds.
  private static let recency: Int64 = 250_000_000

  enum Admission {
    case unthrottled
    case waits
    /// The owner is throttled, and too many throttled units wait.
    case full
  }

  private var waiting: [WriteUnit] = []
  private var slowOwners: Set<WriteOwner> = []
  /// The time that owners took in the current group.
  private var spent: [WriteOwner: Int64] = [:]
  /// When the next throttled unit may run while other owners write.
  private var due: Int64 = 0
  /// When a unit last ended whose owner was not throttled.
  private var lastOther: Int64?

  var isEmpty: Bool { waiting.isEmpty }

  /// Starts a group.
  mutating func begin() {
    if !spent.isEmpty { spent = [:] }
  }

  /// Queues the unit if its owner is throttled.
  mutating func admit(_ unit: WriteUnit) -> Admission {
    guard !slowOwners.isEmpty, let owner = unit.owner, slowOwners.contains(owner) else { return .unthrottled }
    guard waiting.count < Self.capacity else { return .full }
    waiting.append(unit)
    return .waits
  }

  /// Removes and returns the next throttled unit, or returns nil if none may run now. `othersWait`
  /// says whether units of other owners may be waiting.
  mutating func next(now: Int64, othersWait: Bool) -> WriteUnit? {
    guard !waiting.isEmpty, !othersWait || now >= due else { return nil }
    return waiting.removeFirst()
  }

  /// How many nanoseconds to wait before the next throttled unit, or nil to run it now.
  func timeToRest(now: Int64) -> Int64? {
    guard due > now, let lastOther, now - lastOther < Self.recency else { return nil }
    return due - now
  }

  /// Records that a unit has just ended and took `time` nanoseconds.
  mutating func note(_ unit: WriteUnit, took time: Int64, now: Int64) {
    defer {
      if !(unit.owner.map(slowOwners.contains) ?? false) { lastOther = now }
    }
    guard let owner = unit.owner else { return }
    guard time >= Self.countedTime else {
      if !slowOwners.isEmpty, !waiting.contains(where: { $0.owner == owner }) { slowOwners.remove(owner) }
      return
    }
    spent[owner, default: 0] += time
    guard spent[owner, default: 0] >= Self.slowTime || slowOwners.contains(owner) else { return }
    slowOwners.insert(owner)
    due = now + min(Self.longestRest, time * Self.rest)
  }
}
