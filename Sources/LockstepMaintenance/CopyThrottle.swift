/// How fast something goes through a file that others need too.
public struct CopyThrottle: Sendable {
  /// The most bytes a second; nil: as fast as it can.
  public var bytesPerSecond: Int?
  /// How much time has passed since some fixed moment.
  public var elapsed: @Sendable () -> Duration
  /// Sleeps on this thread; throws where the work is to be given up.
  public var pause: @Sendable (Duration) throws -> Void

  /// A pace of its parts.
  public init(
    bytesPerSecond: Int?,
    elapsed: @escaping @Sendable () -> Duration,
    pause: @escaping @Sendable (Duration) throws -> Void
  ) {
    self.bytesPerSecond = bytesPerSecond
    self.elapsed = elapsed
    self.pause = pause
  }

  /// Pauses where so many bytes since `start` were too many; always gives the word to `pause`, so that it can end the work.
  func keep(since start: Duration, bytes: Int) throws {
    guard let bytesPerSecond else { return try pause(.zero) }
    let due = Duration.nanoseconds(Int64(Double(bytes) / Double(max(1, bytesPerSecond)) * 1_000_000_000))
    try pause(max(.zero, due - (elapsed() - start)))
  }
}
