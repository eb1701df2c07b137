import Glibc
import LockstepJSON
import LockstepLogging
import LockstepThreading
import LockstepTime

/// Makes backups of the server's store at regular intervals, and keeps the newest ones.
///
/// A thread of low priority makes the backups. If a backup fails, for example because the disk is
/// full, the failure is logged and counted, and the backup is retried. No older backup is deleted
/// then.
package final class BackupScheduler: Sendable {
  package struct Metrics: Sendable, Equatable {
    package var made = 0
    package var failures = 0
    /// When the newest backup was made, in milliseconds since 1970; nil if there is no backup.
    package var last: Int64?
    package var bytes = 0
    package var duration = Duration.zero
  }

  private struct Stopping: Error {}

  /// The longest time until a failed backup is retried.
  static let retry = Duration.seconds(300)

  private let schedule: BackupSchedule
  private let folder: BackupFolder
  private let store: String
  private let time: TimeSource
  private let logger: Logger
  private let pool: WorkerPool
  private let currentMetrics = LockedState(Metrics())
  private let isStopping = LockedState(false)

  package init(
    _ schedule: BackupSchedule,
    folder: String,
    store: String,
    identity: String,
    time: TimeSource,
    logger: Logger
  ) throws {
    self.schedule = schedule
    self.folder = BackupFolder(path: folder, store: store, identity: identity)
    self.store = store
    self.time = time
    self.logger = logger
    pool = try WorkerPool(name: "backup", threads: 1, capacity: 1)
    currentMetrics.withLock { $0.last = self.folder.newest?.millisecondsSince1970 }
  }

  package var metrics: Metrics { currentMetrics.withLock { $0 } }

  /// Makes backups until the task is cancelled. The first one is due when the newest backup in the
  /// folder is as old as the interval. So frequent restarts do not fill the disk.
  package func run(by clock: any Clock<Duration>) async {
    var wait = timeToFirst
    while true {
      if wait > .zero { try? await clock.sleep(for: wait) }
      if Task.isCancelled { return }
      wait = await makeBackup() ? schedule.every : min(schedule.every, Self.retry)
    }
  }

  private var timeToFirst: Duration {
    guard let newest = folder.newest else { return .zero }
    let age = Duration.milliseconds(time.millisecondsSince1970() - newest.millisecondsSince1970)
    // A wrong clock may have dated a backup in the future. That backup must not delay the next one.
    return age < .zero ? .zero : max(.zero, schedule.every - age)
  }

  /// Makes a backup now and deletes the oldest ones. Returns whether it succeeded.
  func makeBackup() async -> Bool {
    let start = time.elapsed()
    do {
      let (path, bytes) = try await pool.run { try self.write() }
      let duration = time.elapsed() - start
      let now = time.millisecondsSince1970()
      currentMetrics.withLock {
        $0 = Metrics(made: $0.made + 1, failures: $0.failures, last: now, bytes: bytes, duration: duration)
      }
      logger.log(.info, "backup made", ["file": .string(path), "bytes": .integer(Int64(bytes))])
      return true
    } catch {
      if error is Stopping || error is CancellationError || error is PoolShutDownError { return false }
      currentMetrics.withLock { $0.failures += 1 }
      logger.log(.error, "backup failed", ["error": .string("\(error)")])
      return false
    }
  }

  /// Abandons the running backup, and returns when the thread has ended. Blocks.
  package func shutDown() {
    isStopping.withLock { $0 = true }
    isStopping.wakeAll()
    pool.shutDown()
  }

  // MARK: On the thread

  private func write() throws -> (path: String, bytes: Int) {
    // On Linux, this lowers the priority of the calling thread only.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    try folder.make()
    folder.removeLeftBehind()
    let path = folder.file(at: time.now())
    let throttle = CopyThrottle(bytesPerSecond: schedule.bytesPerSecond, elapsed: time.elapsed, pause: pause)
    let bytes = try StoreBackup(of: store, throttle: throttle).write(to: path, overwriting: true)
    folder.removeOldest(keeping: schedule.keep, after: path)
    return (path, bytes)
  }

  private func pause(_ duration: Duration) throws {
    if isStopping.wait(atMost: duration.wholeNanoseconds, for: { $0 ? true : nil }) == true { throw Stopping() }
  }
}
