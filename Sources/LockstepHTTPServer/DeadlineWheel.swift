/// Many deadlines that are nearly always moved before they're due, at next to no cost.
///
/// A key is put into the slot of its tick and looked at when that tick is over. Whoever moves a deadline to a later
/// time tells nobody: when the key comes up, its owner is asked and puts it in again. So a connection that serves a
/// million requests is touched once an idle time, not a million times. Both ways cost O(1).
struct DeadlineWheel<Key: Sendable> {
  // 2^26 ns = 67 ms a tick: no time-out here needs to be finer, and a shift finds the tick.
  private static var tickShift: Int64 { 26 }
  private static var slotCount: Int64 { 2048 }

  private var slots: [[Key]]
  private var count = 0
  /// The first tick that was not looked at.
  private var current: Int64
  private var nextOccupied = Int64.max

  /// A wheel that begins at a time in nanoseconds.
  init(now: Int64) {
    slots = Array(repeating: [], count: Int(Self.slotCount))
    current = now >> Self.tickShift
  }

  /// Has `key` come up at `deadline` or within a tick after it; earlier when that is further off than the wheel's
  /// horizon of two minutes. Gives the time at which it will.
  @discardableResult
  mutating func schedule(_ key: Key, at deadline: Int64) -> Int64 {
    let tick = min(max((deadline >> Self.tickShift) + 1, current), current + Self.slotCount - 1)
    slots[Int(tick % Self.slotCount)].append(key)
    count += 1
    nextOccupied = min(nextOccupied, tick)
    return tick << Self.tickShift
  }

  /// The keys that come up, in order of their ticks and then of scheduling.
  mutating func advance(to now: Int64) -> [Key] {
    let last = now >> Self.tickShift
    guard nextOccupied <= last else {
      current = max(current, last)
      return []
    }
    var due: [Key] = []
    let end = min(last, current + Self.slotCount - 1)
    for tick in nextOccupied...end {
      let slot = Int(tick % Self.slotCount)
      due.append(contentsOf: slots[slot])
      slots[slot].removeAll()
    }
    count -= due.count
    current = max(current, last)
    nextOccupied = findOccupied()
    return due
  }

  /// How long until a key comes up, in nanoseconds, or nil when the wheel is empty.
  func timeUntilNext(from now: Int64) -> Int64? {
    nextOccupied == .max ? nil : max(0, (nextOccupied << Self.tickShift) - now)
  }

  private func findOccupied() -> Int64 {
    guard count > 0 else { return .max }
    return (current..<current + Self.slotCount).first { !slots[Int($0 % Self.slotCount)].isEmpty } ?? .max
  }
}
