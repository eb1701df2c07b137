/// How much a user may have of favorites. Past it a write is refused and changes nothing; what is there stays.
public struct FavoritesQuota: Sendable, Equatable {
  /// Elements. Default 10,000.
  public var items = 10_000
  /// Bytes of all elements as JSON. Default 16 MiB.
  public var bytes = 16 * 1024 * 1024

  /// The defaults.
  public init() {}
}

/// How much a user may have of defaults. Past it a write is refused and changes nothing; what is there stays.
public struct DefaultsQuota: Sendable, Equatable {
  /// Keys of a suite. Default 4,096.
  public var keys = 4_096
  /// Bytes of a suite's keys and values as JSON. Default 4 MiB.
  public var bytes = 4 * 1024 * 1024
  /// Suites that have any value. Default 64.
  public var suites = 64

  /// The defaults.
  public init() {}
}

/// How much of a user's history is kept: what both say may go goes.
public struct HistoryPolicy: Sendable, Equatable {
  /// What is younger than so many days is kept. Default 30.
  public var days = 30
  /// So many of a user's last revisions are kept, at least one. Default 1,000.
  public var revisions = 1_000

  /// The defaults.
  public init() {}
}
