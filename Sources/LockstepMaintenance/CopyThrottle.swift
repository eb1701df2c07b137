/// Limits how fast a store is copied, so that the server's writes do not wait for the disk.
package struct CopyThrottle: Sendable {
  /// Nil sets no limit.
  let bytesPerSecond: Int?
  /// The time since a fixed moment.
  let elapsed: @Sendable () -> Duration
  /// Sleeps on this thread. Throws to abandon the copy.
  let pause: @Sendable (Duration) throws -> Void

  package init(
    bytesPerSecond: Int?,
    elapsed: @escaping @Sendable () -> Duration,
    pause: @escaping @Sendable (Duration) throws -> Void
  ) {
    self.bytesPerSecond = bytesPerSecond
    self.elapsed = elapsed
    self.pause = pause
  }

  /// Pauses if `bytes` is more than the limit allows since `start`. Always calls `pause`, even for
  /// no time at all, because `pause` can abandon the copy.
  func keep(since start: Duration, bytes: Int) throws {
    guard let bytesPerSecond else { return try pause(.zero) }
    let due = Duration.nanoseconds(Int64(Double(bytes) / Double(max(1, bytesPerSecond)) * 1_000_000_000))
    try pause(max(.zero, due - (elapsed() - start)))
  }
}
