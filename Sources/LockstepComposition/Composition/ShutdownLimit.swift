import LockstepThreading

/// Limits the time in which a server stops, when the database does not respond or does not confirm commits.
///
/// `services` finish their work first. A commit that waits for a synchronous standby would hold up the end of the
/// process for as long as the standby is away.
final class ShutdownLimit: Sendable {
  /// The time for last uses and other work after the last request.
  private static let workTime = Duration.milliseconds(500)
  /// The time after that in which a node gives up its lease.
  private static let leaseTime = Duration.milliseconds(500)

  private let drainTime: Duration
  private let services: Services
  private let isOver = LockedState(false)
  private let thread = LockedState<NamedThread?>(nil)

  init(drainTime: Duration, _ services: Services) {
    (self.drainTime, self.services) = (drainTime, services)
  }

  /// Call this when the server begins to drain, once.
  func begin() {
    let (times, services, isOver) = ([drainTime + Self.workTime, Self.leaseTime], services, isOver)
    let new = try? NamedThread(name: "shutdown-limit") {
      for (index, time) in times.enumerated() {
        if isOver.wait(atMost: time.wholeNanoseconds, for: { $0 ? () : nil }) != nil { return }
        services.cancelWaits(index > 0)
      }
    }
    thread.withLock { $0 = new }
  }

  /// Call this when the services have shut down.
  func end() {
    isOver.withLock { $0 = true }
    isOver.wakeAll()
    thread.withLock { $0.take() }?.join()
  }
}
