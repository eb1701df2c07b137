/// Whose unit it is: units of one owner run in the order of their submission, and share what one may take of the writer's time.
public struct WriteOwner: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64

  /// An owner by 128 bits that nobody else has.
  public init(_ high: UInt64, _ low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// Where units wait whose owner's take long, so that nobody has everybody else wait.
///
/// Who has held a group up for long has their next units run alone, and only where nobody else writes or a while after the last
/// slow one: nine times as long as that took. So all slow owners together have a tenth of the writer's time where others
/// want it, and all of it where nobody does. The first unit that is quick lets its owner out, once nothing of theirs waits.
///
/// Who writes one thing after the other doesn't wait at every moment; so whoever has written lately counts as one who writes.
struct WriteThrottle {
  /// What makes an owner slow: so many nanoseconds in one group.
  static let slowTime: Int64 = 10_000_000
  /// What a unit takes at least to be counted at all: quick ones cost nothing but a look at the clock.
  private static let countedTime: Int64 = 500_000
  /// How much may wait.
  static let capacity = 256
  /// How long others go first, as a multiple of the time that a slow unit took, and at most.
  private static let rest: Int64 = 9
  private static let longestRest: Int64 = 5_000_000_000
  /// How long ago others may have written to count as those who write.
  private static let lately: Int64 = 250_000_000

  enum Admission {
    /// Its owner isn't slow.
    case notMine
    case waits
    /// Its owner is slow, and there is no room.
    case full
  }

  private var waiting: [WriteUnit] = []
  private var slowOwners: Set<WriteOwner> = []
  /// What owners took of the group that runs.
  private var spent: [WriteOwner: Int64] = [:]
  /// When the next one may run though others write.
  private var due: Int64 = 0
  /// When a unit of one who isn't slow ran last.
  private var lastOther: Int64?

  var isEmpty: Bool { waiting.isEmpty }

  /// A group begins.
  mutating func begin() {
    if !spent.isEmpty { spent = [:] }
  }

  /// Takes a unit in where its owner is slow, and there is room.
  mutating func admit(_ unit: WriteUnit) -> Admission {
    guard !slowOwners.isEmpty, let owner = unit.owner, slowOwners.contains(owner) else { return .notMine }
    guard waiting.count < Self.capacity else { return .full }
    waiting.append(unit)
    return .waits
  }

  /// The unit whose turn it is, if any.
  ///
  /// - Parameters:
  ///   - now: The time.
  ///   - othersWait: Whether anybody else wants the writer.
  /// - Returns: nil where none may run now.
  mutating func next(now: Int64, othersWait: Bool) -> WriteUnit? {
    guard !waiting.isEmpty, !othersWait || now >= due else { return nil }
    return waiting.removeFirst()
  }

  /// How long it's to be waited for others before the next one runs, in nanoseconds; nil where it may run at once.
  func timeToRest(now: Int64) -> Int64? {
    guard due > now, let lastOther, now - lastOther < Self.lately else { return nil }
    return due - now
  }

  /// Notes that a unit took so long, and has just ended.
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
