/// The offset of a time zone from UTC at any moment.
struct TimeZoneRules: Sendable, Equatable {
  /// A change of the offset.
  struct Transition: Sendable, Equatable {
    /// Seconds since 1970.
    let time: Int64
    /// Seconds ahead of UTC from then on.
    let offset: Int
  }

  /// The offset before the first transition.
  let first: Int
  /// The changes of the offset, in order of time.
  let transitions: [Transition]
  /// The rule after the last transition. If there is no rule, the last offset stays.
  let rule: RecurringRule?

  /// Seconds ahead of UTC at a time in seconds since 1970.
  func offset(at time: Int64) -> Int {
    guard let last = transitions.last else { return rule?.offset(at: time) ?? first }
    if time >= last.time { return rule?.offset(at: time) ?? last.offset }
    // Finds the first transition after `time`.
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? first : transitions[low - 1].offset
  }
}
