/// The settings for a server's backups.
public struct BackupSchedule: Sendable, Equatable {
  /// The folder for the backups. Nil for no backups.
  public var folder: String?
  /// The time between two backups. Default: 6 hours.
  public var every = Duration.seconds(6 * 3600)
  /// How many backups to keep, at least 1. Default: 7.
  public var keep = 7
  /// The most bytes that a backup copies in a second; nil sets no limit. Default: 64 MiB.
  public var bytesPerSecond: Int? = 64 * 1024 * 1024

  /// A schedule without a folder: the server makes no backups.
  public init() {}
}
