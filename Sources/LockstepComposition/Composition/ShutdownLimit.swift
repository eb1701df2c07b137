import LockstepThreading

/// Limits the time in which a server stops, when the database does not respond or does not confirm commits.
///
/// `services` finish their work first. Without a limit, a commit that waits for a synchronous standby would delay the
/// end of the process until the standby confirms it.
final class ShutdownLimit: Sendable {
  /// The time after the drain time for last uses and other work.
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
