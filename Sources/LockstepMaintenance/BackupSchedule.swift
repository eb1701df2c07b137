/// Which backups a server makes by itself.
public struct BackupSchedule: Sendable, Equatable {
  /// The folder that they are kept in; nil: none are made.
  public var folder: String?
  /// How long after one the next is made. Default: 6 hours.
  public var every: Duration
  /// How many are kept, at least 1. Default: 7.
  public var keep: Int
  /// The most bytes that are copied in a second; nil: as many as can be. Default: 64 MiB.
  public var bytesPerSecond: Int?

  /// A plan; what isn't said is the default.
  public init(
    folder: String? = nil,
    every: Duration = .seconds(6 * 3600),
    keep: Int = 7,
    bytesPerSecond: Int? = 64 * 1024 * 1024
  ) {
    self.folder = folder
    self.every = every
    self.keep = keep
    self.bytesPerSecond = bytesPerSecond
  }
}
