/// Whether a body makes progress.
///
/// Nothing is worked out when bytes come, they are only counted: it's judged when the time for it
/// is over. By then there must have been no silence as long as the grace, and since it was judged
/// before, as many bytes as the rate asks for; then it has as much time again. What came earlier
/// buys no time.
struct BodyPace {
  private let bounds: ConnectionBounds
  /// Since when, and from which byte on, progress is looked for.
  private var start: Int64
  private var startCount: Int
  private var last: Int64

  /// The pace of a body of which `count` bytes have come.
  init(now: Int64, count: Int, bounds: ConnectionBounds) {
    self.bounds = bounds
    start = now
    startCount = count
    last = now
  }

  /// Something came.
  mutating func note(_ now: Int64) { last = now }

  /// When to judge it next.
  var deadline: Int64 { min(start, last) + bounds.bodyGrace }

  /// Whether it may go on, with so many bytes of the body there.
  mutating func isKept(_ count: Int, now: Int64) -> Bool {
    guard now < last + bounds.bodyGrace else { return false }
    guard now >= start + bounds.bodyGrace else { return true }
    guard count - startCount >= bounds.leastBody else { return false }
    start = now
    startCount = count
    return true
  }
}
