import LockstepHTTPServer
import LockstepLogging
import LockstepTime

/// The clocks, the log and the limits that a server gets from its process.
public struct Environment: Sendable {
  /// The clocks.
  public var time: TimeSource
  /// The clock of background work: admin commands, backups and the expiry of screens. Default: the system's.
  public var clock: any Clock<Duration>
  /// Writes a log line.
  public var writeLog: @Sendable ([UInt8]) -> Void
  /// The number of lost log lines.
  public var droppedLogLines: @Sendable () -> Int
  /// The limit on open files of the process. Default: none.
  public var descriptorLimit = Int.max

  /// An environment of its parts.
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
}

extension Logger {
  /// The logger of a configuration.
  init(_ configuration: Configuration, environment: Environment) {
    let time = environment.time
    self.init(
      level: configuration.logLevel,
      format: configuration.logFormat,
      now: { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) },
      write: environment.writeLog
    )
  }
}
