/// A timer wheel for deadlines that nearly always move before they are due. All operations cost
/// O(1). Moving a deadline to a later time needs no operation, because the caller schedules the key
/// again when the key is due.
struct DeadlineWheel<Key: Sendable> {
  // A tick is 2^26 ns (67 ms). That is exact enough for every time-out, and is computed by a shift.
  private static var tickShift: Int64 { 26 }
  private static var slotCount: Int64 { 2048 }

  private var slots: [[Key]]
  private var count = 0
  private var current: Int64
  private var nextOccupied = Int64.max

  init(now: Int64) {
    slots = Array(repeating: [], count: Int(Self.slotCount))
    current = now >> Self.tickShift
  }

  /// Schedules `key` at most a tick after `deadline`, or earlier if `deadline` is more than the
  /// wheel's two minutes away. Returns when the key is due.
  @discardableResult
  mutating func schedule(_ key: Key, at deadline: Int64) -> Int64 {
    let tick = min(max((deadline >> Self.tickShift) + 1, current), current + Self.slotCount - 1)
    slots[Int(tick % Self.slotCount)].append(key)
    count += 1
    nextOccupied = min(nextOccupied, tick)
    return tick << Self.tickShift
  }

  /// Removes and returns the keys that are due, ordered by tick, then by the time of scheduling.
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

  /// Nanoseconds until a key is due; nil if the wheel is empty.
  func timeUntilNext(from now: Int64) -> Int64? {
    nextOccupied == .max ? nil : max(0, (nextOccupied << Self.tickShift) - now)
  }

  private func findOccupied() -> Int64 {
    guard count > 0 else { return .max }
    return (current..<current + Self.slotCount).first { !slots[Int($0 % Self.slotCount)].isEmpty } ?? .max
  }
}
