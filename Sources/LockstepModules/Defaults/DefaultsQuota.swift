/// How many user defaults a user may have. The server refuses a write that would exceed the quota.
public struct DefaultsQuota: Sendable, Equatable {
  /// The number of keys of a suite. Default: 4,096.
  public var keys: Int
  /// The bytes of a suite's keys and values as JSON. Default: 4 MiB.
  public var bytes: Int
  /// The number of suites with at least one value. Default: 64.
  public var suites: Int

  /// Creates a quota. A limit that is left out has its default value.
  public init(keys: Int = 4_096, bytes: Int = 4 * 1024 * 1024, suites: Int = 64) {
    self.keys = keys
    self.bytes = bytes
    self.suites = suites
  }
}
