import LockstepTime

/// How much of a user's history is kept. A revision is pruned if it is beyond both `days` and
/// `revisions`, or beyond `bytes`.
public struct HistoryPolicy: Sendable, Equatable {
  /// Revisions of this many days are kept. Default: 30.
  public var days: Int
  /// This many of a user's last revisions are kept, at least one. Default: 1,000.
  public var revisions: Int
  /// The bytes of a user's history as text. If it is longer, the oldest revisions are pruned
  /// whatever their age, because a request of 100 KB may write 8 MB of history. Default: 64 MiB.
  public var bytes: Int
  /// The bytes of the records of a user's idempotency keys. Above it, the oldest records are removed. Default:
  /// 64 MiB.
  public var keyBytes: Int

  /// Creates a policy. A limit that is left out has its default value.
  public init(
    days: Int = 30,
    revisions: Int = 1_000,
    bytes: Int = 64 * 1024 * 1024,
    keyBytes: Int = 64 * 1024 * 1024
  ) {
    self.days = days
    self.revisions = revisions
    self.bytes = bytes
    self.keyBytes = keyBytes
  }

  /// Revisions from this time on are kept.
  func oldest(at now: Timestamp) -> Timestamp {
    Timestamp(millisecondsSince1970: now.millisecondsSince1970 - Int64(days) * 86_400_000)
  }

  /// At least the last revision is kept.
  var leastRevisions: Int { max(1, revisions) }
}

/// How many requests may wait. A request above the limit gets 429.
public struct WaitingLimits: Sendable, Equatable {
  /// For each service token. Its requests do not count for the users.
  package static let perServiceToken = 1_000

  /// For one user's state. Default: 64.
  public var perUser: Int
  /// In total. Default: 100,000.
  public var inAll: Int

  /// Creates limits. A limit that is left out has its default value.
  public init(perUser: Int = 64, inAll: Int = 100_000) {
    self.perUser = perUser
    self.inAll = inAll
  }
}

/// How many screens may be open.
public struct ScreenLimits: Sendable, Equatable {
  /// For one session. A request above the limit gets 429. Default: 64.
  public var perSession: Int
  /// Without a session. A request above the limit gets 429, and so does one from a network that has half
  /// of the places that others leave. Default: 10,000.
  public var anonymous: Int
  /// In total. A request above the limit gets 503. A request of a user who has half of the places that
  /// others leave gets 429. Default: 50,000.
  public var inAll: Int

  /// Creates limits. A limit that is left out has its default value.
  public init(perSession: Int = 64, anonymous: Int = 10_000, inAll: Int = 50_000) {
    self.perSession = perSession
    self.anonymous = anonymous
    self.inAll = inAll
  }
}
