/// What a time zone's clocks show at any moment: how many seconds they are ahead of UTC.
struct TimeZoneRules: Sendable, Equatable {
  /// UTC itself.
  static let utc = TimeZoneRules(first: 0, transitions: [], rule: nil)

  /// A moment at which the clocks were changed, and what they have shown since.
  struct Transition: Sendable, Equatable {
    /// In seconds since 1970.
    let time: Int64
    /// Seconds ahead of UTC.
    let offset: Int
  }

  /// What the clocks showed before they were ever changed.
  let first: Int
  /// In order of time.
  let transitions: [Transition]
  /// What holds after the last transition; nil: what it said.
  let rule: RecurringRule?

  /// Seconds ahead of UTC, at a moment in seconds since 1970.
  func offset(at time: Int64) -> Int {
    guard let last = transitions.last else { return rule?.offset(at: time) ?? first }
    if time >= last.time { return rule?.offset(at: time) ?? last.offset }
    // The first of those that are still to come; the one before it holds.
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? first : transitions[low - 1].offset
  }
}
