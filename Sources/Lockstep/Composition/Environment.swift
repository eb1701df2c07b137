import LockstepHTTPServer
import LockstepLogging
import LockstepTime

/// What comes from outside the product: the clocks, and where the log goes.
public struct Environment: Sendable {
  /// The clocks.
  public var time: TimeSource
  /// What the server sleeps by where it does something that nobody asks it for over the wire: carrying out operators' orders, making
  /// backups, looking after screens that are over. What time it is, `time` says. Default: the system's.
  public var clock: any Clock<Duration>
  /// Where log lines go.
  public var writeLog: @Sendable ([UInt8]) -> Void
  /// How many log lines were lost.
  public var droppedLogLines: @Sendable () -> Int
  /// How many files the process may have open. Default: any number.
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
  /// The logger that a configuration asks for.
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
