/// How much a user may have of defaults. Past it a write is refused and changes nothing; what is there stays.
public struct DefaultsQuota: Sendable, Equatable {
  /// Keys of a suite. Default 4,096.
  public var keys: Int
  /// Bytes of a suite's keys and values as JSON. Default 4 MiB.
  public var bytes: Int
  /// Suites that have any value. Default 64.
  public var suites: Int

  /// A quota; what isn't said is the default.
  public init(keys: Int = 4_096, bytes: Int = 4 * 1024 * 1024, suites: Int = 64) {
    self.keys = keys
    self.bytes = bytes
    self.suites = suites
  }
}

/// How much of a user's history is kept: what both `days` and `revisions` say may go goes, and whatever is past `bytes`.
public struct HistoryPolicy: Sendable, Equatable {
  /// What is younger than so many days is kept. Default 30.
  public var days: Int
  /// So many of a user's last revisions are kept, at least one. Default 1,000.
  public var revisions: Int
  /// What a user's history may take as text; past it the oldest goes, however young it is. It's what bounds the store where
  /// small requests change much: a batch of a hundred kilobytes may be eight megabytes of history. Default 64 MiB.
  public var bytes: Int

  /// A policy; what isn't said is the default.
  public init(days: Int = 30, revisions: Int = 1_000, bytes: Int = 64 * 1024 * 1024) {
    self.days = days
    self.revisions = revisions
    self.bytes = bytes
  }
}

/// How many requests may wait for something to happen. Beyond it: 429.
public struct WaitingLimits: Sendable, Equatable {
  /// For one user's state. Default 64.
  public var perUser: Int
  /// In all. Default 100,000.
  public var inAll: Int

  /// Limits; what isn't said is the default.
  public init(perUser: Int = 64, inAll: Int = 100_000) {
    self.perUser = perUser
    self.inAll = inAll
  }
}

/// How many screens may be open.
public struct ScreenLimits: Sendable, Equatable {
  /// Of one session. Beyond it: 429. Default 64.
  public var perSession: Int
  /// Of nobody. Beyond it: 429. Default 10,000.
  public var anonymous: Int
  /// In all. Beyond it: 503. Default 50,000.
  public var inAll: Int

  /// Limits; what isn't said is the default.
  public init(perSession: Int = 64, anonymous: Int = 10_000, inAll: Int = 50_000) {
    self.perSession = perSession
    self.anonymous = anonymous
    self.inAll = inAll
  }
}
