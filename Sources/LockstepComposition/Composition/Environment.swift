import LockstepLogging
import LockstepThreading

/// The parts that a server gets from its process: clocks, a log, and the limit on open files.
public struct Environment: Sendable {
  /// The clocks from which a server reads the time.
  public var time: TimeSource
  /// The clock with which background work sleeps: deliveries, backups, the expiry of screens.
  public var clock: any Clock<Duration>
  /// Writes a log line.
  public var writeLog: @Sendable ([UInt8]) -> Void
  /// The number of dropped log lines.
  public var droppedLogLines: @Sendable () -> Int
  /// The number of files that the process may have open. Default: no limit.
  public var descriptorLimit = Int.max
  /// Where the server's tasks run. Tests in virtual time replace it.
  package var placement = WorkPlacement()

  /// Creates an environment from its parts.
  public init(
    time: TimeSource,
    clock: any Clock<Duration> = ContinuousClock(),
    writeLog: @escaping @Sendable ([UInt8]) -> Void,
    droppedLogLines: @escaping @Sendable () -> Int
  ) {
    self.time = time
    self.clock = clock
    self.writeLog = writeLog
    self.droppedLogLines = droppedLogLines
  }

  /// The log of a server with this configuration.
  public func logger(_ configuration: Configuration) -> Logger {
    Logger(level: configuration.logLevel, format: configuration.logFormat, now: time.now, write: writeLog)
  }
}
