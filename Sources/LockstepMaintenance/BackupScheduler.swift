import Glibc
import LockstepJSON
import LockstepLogging
import LockstepThreading
import LockstepTime

/// Makes backups of the store that a server serves, every so often, and keeps the newest.
///
/// Each is made on a thread of its own, which lets the server's go first. One that fails, because the disk is full or not
/// there, is logged and counted, and tried again before long; the server goes on, and none of the older ones goes.
package final class BackupScheduler: Sendable {
  /// What there is to measure of backups.
  package struct Figures: Sendable, Equatable {
    /// Backups that were made.
    package var made = 0
    /// Backups that weren't, for whatever reason.
    package var failures = 0
    /// When the last one was made, in milliseconds since 1970; nil before the first, where the folder held none.
    package var last: Int64?
    /// How large it was.
    package var bytes = 0
    /// How long it took.
    package var duration = Duration.zero
  }

  /// The server stops: what is being made is given up.
  private struct Stopping: Error {}

  /// How soon what failed is tried again, at most.
  static let retry = Duration.seconds(300)

  private let plan: BackupSchedule
  private let folder: BackupFolder
  private let store: String
  private let time: TimeSource
  private let logger: Logger
  private let pool: WorkerPool
  private let figuresNow = LockedState(Figures())
  private let isStopping = LockedState(false)

  /// Keeps backups of the store of this identity in a folder. Throws where there is no thread to make them on.
  package init(
    _ plan: BackupSchedule,
    folder: String,
    store: String,
    identity: String,
    time: TimeSource,
    logger: Logger
  ) throws {
    self.plan = plan
    self.folder = BackupFolder(path: folder, store: store, identity: identity)
    self.store = store
    self.time = time
    self.logger = logger
    pool = try WorkerPool(name: "backup", threads: 1, capacity: 1)
    figuresNow.withLock { $0.last = self.folder.newest?.millisecondsSince1970 }
  }

  /// What was measured so far.
  package var figures: Figures { figuresNow.withLock { $0 } }

  /// Makes one whenever it's time, until the task is cancelled. The first at once, unless the folder has one that isn't old
  /// enough yet: a server that is restarted often doesn't fill the disk.
  package func attend(by clock: any Clock<Duration>) async {
    var wait = timeToFirst
    while true {
      if wait > .zero { try? await clock.sleep(for: wait) }
      if Task.isCancelled { return }
      wait = await makeOne() ? plan.every : min(plan.every, Self.retry)
    }
  }

  /// How long it is until the first is to be made.
  private var timeToFirst: Duration {
    guard let newest = folder.newest else { return .zero }
    let age = Duration.milliseconds(time.millisecondsSince1970() - newest.millisecondsSince1970)
    // One from the future, by a clock that went wrong, must not keep all others from being made.
    return age < .zero ? .zero : max(.zero, plan.every - age)
  }

  /// Makes one now, and lets the oldest go. Whether it was made.
  func makeOne() async -> Bool {
    let start = time.elapsed()
    do {
      let (path, bytes) = try await pool.run { try self.write() }
      let duration = time.elapsed() - start
      let now = time.millisecondsSince1970()
      figuresNow.withLock { figures in
        figures.made += 1
        figures.last = now
        figures.bytes = bytes
        figures.duration = duration
      }
      logger.log(.info, "backup made", ["file": .string(path), "bytes": .integer(Int64(bytes))])
      return true
    } catch is Stopping {
      return false
    } catch {
      if error is CancellationError || error is WorkerPool.ShutDown { return false }
      figuresNow.withLock { $0.failures += 1 }
      logger.log(.error, "the backup wasn't made", ["error": .string("\(error)")])
      return false
    }
  }

  /// Gives up what is being made, and returns when the thread has ended. Blocks.
  package func shutDown() {
    isStopping.withLock { $0 = true }
    isStopping.wakeAll()
    pool.shutDown()
  }

  // MARK: On the thread

  private func write() throws -> (path: String, bytes: Int) {
    // Of this thread alone: Linux keeps it for each.
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    try folder.make()
    folder.removeLeftBehind()
    let path = folder.file(at: Timestamp(millisecondsSince1970: time.millisecondsSince1970()))
    let pace = CopyThrottle(bytesPerSecond: plan.bytesPerSecond, elapsed: time.elapsed) { try self.pause($0) }
    let bytes = try StoreBackup(of: store, pace: pace).write(to: path, overwriting: true)
    folder.removeOldest(keeping: plan.keep, after: path)
    return (path, bytes)
  }

  private func pause(_ duration: Duration) throws {
    if isStopping.wait(atMost: duration.wholeNanoseconds, for: { $0 ? true : nil }) == true { throw Stopping() }
  }
}
