import LockstepTime

/// How fast this server sends to one destination, from what it has seen of the destination.
struct DeliveryPace: Sendable {
  /// The most attempts at a time, unless the destination has another number.
  static let usual = 16
  /// The most while attempts fail, so that a receiver that hangs occupies few connections.
  static let mostWhileFailing = 2
  /// After this many failures without a success between them, the receiver itself has failed, and
  /// not the deliveries of some users.
  private static let failuresBeforePause = 20
  private static let pause: Int64 = 1_000

  /// The most attempts at a time.
  private let most: Int
  private(set) var running = 0
  private var failuresInARow = 0
  private var pausedUntil = Timestamp(millisecondsSince1970: 0)

  init(most: Int = usual) { self.most = most }

  /// How many more attempts may begin.
  func free(at now: Timestamp) -> Int {
    if now < pausedUntil { return 0 }
    return max(0, (failuresInARow == 0 ? most : min(most, Self.mostWhileFailing)) - running)
  }

  /// The end of the pause, if there is one.
  func pauseEnd(at now: Timestamp) -> Timestamp? { now < pausedUntil ? pausedUntil : nil }

  mutating func begin(_ count: Int) { running += count }

  mutating func end(_ outcome: AttemptOutcome, at now: Timestamp) {
    running -= 1
    if outcome.isAborted { return }
    switch outcome.kind {
    case .delivered, .rejected: failuresInARow = 0
    case .throttled, .failed, .gone:
      failuresInARow += 1
      if failuresInARow >= Self.failuresBeforePause { pauseUntil(now.millisecondsSince1970 + Self.pause) }
    }
  }

  private mutating func pauseUntil(_ milliseconds: Int64) {
    pausedUntil = max(pausedUntil, Timestamp(millisecondsSince1970: milliseconds))
  }
}
