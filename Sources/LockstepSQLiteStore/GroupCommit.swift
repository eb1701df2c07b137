import CLockstepSQLite
import LockstepSQLite
import LockstepThreading

/// One caller's write.
@usableFromInline
struct WriteUnit: OwnedWrite {
  /// Writes, and returns the completion handler for success.
  let run: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
  /// The completion handler for failure.
  let fail: @Sendable (any Error) -> Void
  /// Whether the unit throws only before its first change, so that it needs no savepoint.
  let throwsUnwritten: Bool
  @usableFromInline let owner: WriteOwner?

  @usableFromInline
  init(
    run: @escaping @Sendable (SQLiteConnection) throws -> @Sendable () -> Void,
    fail: @escaping @Sendable (any Error) -> Void,
    throwsUnwritten: Bool,
    owner: WriteOwner?
  ) {
    self.run = run
    self.fail = fail
    self.throwsUnwritten = throwsUnwritten
    self.owner = owner
  }
}

/// Runs units on the writer thread, many in one transaction.
struct GroupCommit {
  /// A unit of a group, with its completion handler for success, or its own error.
  private struct Entry {
    let unit: WriteUnit
    let outcome: Result<@Sendable () -> Void, any Error>

    var handler: @Sendable () -> Void {
      switch outcome {
      case .success(let complete): complete
      case .failure(let error): { [unit] in unit.fail(error) }
      }
    }
  }

  /// The shortest time between two checkpoints that a full disk causes, in nanoseconds.
  private static let fullDiskPause: Int64 = 1_000_000_000

  private let connection: SQLiteConnection
  private let shared: WriterShared
  private let handlers: HandlerThread
  private var checkpointer: WALCheckpointer
  private var commitMonitor: FailureMonitor
  private var checkpointMonitor: FailureMonitor
  /// Whether the last transaction failed because the disk is full.
  private var isDiskFull = false
  private var lastFullDiskCheckpoint: Int64?
  /// Units that were taken from the queue and have not run yet, in order.
  private var taken: ArraySlice<WriteUnit> = []
  private var delay = CommitDelay()
  private var throttle = WriteThrottle<WriteUnit>()
  /// The units that ran in the open transaction, in order.
  private var group: [Entry] = []

  init(_ connection: SQLiteConnection, _ shared: WriterShared, _ handlers: HandlerThread) {
    self.connection = connection
    self.shared = shared
    self.handlers = handlers
    checkpointer = WALCheckpointer(connection, options: shared.options)
    let (listener, monotonic) = (shared.healthListener, shared.monotonic)
    commitMonitor = FailureMonitor(work: .commit, listener: listener, monotonic: monotonic)
    checkpointMonitor = FailureMonitor(work: .checkpoint, listener: listener, monotonic: monotonic)
  }

  /// Runs units until the queue is closed and empty.
  mutating func run() {
    while true {
      if let unit = nextThrottled(othersWait: true) {
        writeAlone(unit)
      } else if let unit = nextTaken() {
        writeGroup(startingWith: unit)
      } else if let time = timeToRest(), !shared.queue.isClosed {
        if let unit = shared.queue.next(withinNanoseconds: time) { taken = [unit] }
        continue
      } else if let unit = nextThrottled(othersWait: false) {
        writeAlone(unit)
      } else if checkpointer.mustErase, !shared.queue.isClosed {
        if let unit = shared.queue.next(withinNanoseconds: WALCheckpointer.erasurePause) {
          taken = [unit]
          continue
        }
        checkpoint()
      } else if let unit = shared.queue.next() {
        // The unit does not run at once: `nextTaken()` checks first whether its owner is throttled.
        taken = [unit]
        continue
      } else {
        break
      }
      if checkpointer.isDue(now: shared.monotonic()) { checkpoint() }
    }
    handlers.close()
  }

  /// How many nanoseconds to wait for other owners before the next throttled unit runs. Nil if no
  /// throttled unit waits, or if it may run now.
  private func timeToRest() -> Int64? { throttle.isEmpty ? nil : throttle.timeToRest(now: shared.monotonic()) }

  private mutating func nextThrottled(othersWait: Bool) -> WriteUnit? {
    throttle.isEmpty ? nil : throttle.next(now: shared.monotonic(), othersWait: othersWait)
  }

  /// The oldest waiting unit that is not throttled. Units are taken from the queue in bulk, to keep
  /// contention for its lock low.
  private mutating func nextTaken() -> WriteUnit? {
    if taken.isEmpty { taken = shared.queue.takeWaiting(atMost: shared.options.groupLimit)[...] }
    while let unit = taken.popFirst() {
      // An empty slice would keep the units that were taken from it, until the next write.
      if taken.isEmpty { taken = [] }
      if let admitted = admitted(unit) { return admitted }
    }
    return nil
  }

  /// Returns the unit, or nil if its owner is throttled. A throttled unit waits, or fails if too
  /// many such units wait.
  private mutating func admitted(_ unit: WriteUnit) -> WriteUnit? {
    switch throttle.admit(unit, now: shared.monotonic()) {
    case .unthrottled: return unit
    case .waits: return nil
    case .full:
      fail([unit], with: PoolOverloadedError(pool: "throttled writes", capacity: WriteThrottleLimits.capacity))
      return nil
    }
  }

  /// Runs a transaction with this throttled unit.
  private mutating func writeAlone(_ unit: WriteUnit) {
    let start = shared.monotonic()
    writeGroup(startingWith: unit, alone: true)
    let end = shared.monotonic()
    throttle.endAlone(took: end - start, now: end)
  }

  /// Runs a transaction with this unit and, unless `alone`, with units that wait or arrive.
  private mutating func writeGroup(startingWith first: WriteUnit, alone: Bool = false) {
    delay.begin()
    throttle.begin(alone: alone ? first.owner : nil)
    do {
      try connection.begin()
    } catch {
      // Each waiting unit would wait for the same lock or disk, one after the other, and fail too.
      let others = taken + shared.queue.takeWaiting()
      taken = []
      noteFailedCommit(error)
      fail([first] + others, with: error)
      return
    }
    guard runFirst(first) else { return checkpointFullDisk() }
    var failure: SQLiteError?
    while !alone, failure == nil, group.count < shared.options.groupLimit, let unit = nextTaken() ?? nextDelayed() {
      failure = runNext(unit)
    }
    commit(unless: failure)
  }

  /// Waits for another unit as long as `CommitDelay` delays the commit.
  private mutating func nextDelayed() -> WriteUnit? {
    guard let time = delay.timeToWait(with: group.count, now: shared.monotonic()) else { return nil }
    return shared.queue.next(withinNanoseconds: time).flatMap { admitted($0) }
  }

  /// Runs the first unit of a transaction, without a savepoint. If the unit fails, rolls back the
  /// whole transaction and returns false. The unit saw only committed data, so its caller gets the
  /// error without waiting for a commit.
  private mutating func runFirst(_ unit: WriteUnit) -> Bool {
    let written = connection.changedRowsInAll
    do {
      group.append(Entry(unit: unit, outcome: .success(try perform(unit))))
      return true
    } catch {
      connection.rollBack()
      // If the page cache was too small, SQLite has written pages to the WAL before the commit.
      if mayHaveWritten(error, since: written) { connection.eraseWAL() }
      if let error = error as? SQLiteError, error.isStoreFailure {
        commitMonitor.noteFailure(error)
        isDiskFull = error.kind == .full
      }
      fail([unit], with: error)
      return false
    }
  }

  /// Runs another unit so that it can fail alone. Returns an error if the whole transaction must be
  /// rolled back, or if SQLite has rolled it back already, for example because the disk is full.
  private mutating func runNext(_ unit: WriteUnit) -> SQLiteError? {
    let written = connection.changedRowsInAll
    do {
      let notify = try unit.throwsUnwritten ? perform(unit) : connection.savepoint { try perform(unit) }
      group.append(Entry(unit: unit, outcome: .success(notify)))
      return nil
    } catch {
      group.append(Entry(unit: unit, outcome: .failure(error)))
      // Every unit of the group gets the returned error, so it must be an `SQLiteError`, not one of
      // the unit's own.
      guard connection.isInTransaction else {
        return error as? SQLiteError ?? connection.database.noTransaction(sql: "COMMIT")
      }
      guard mayHaveWritten(error, since: written) else { return nil }
      if unit.throwsUnwritten, connection.changedRowsInAll != written {
        connection.eraseWAL()
        return error as? SQLiteError ?? connection.brokenPromise(error)
      }
      connection.eraseFreePages()
      return nil
    }
  }

  /// Whether a unit has failed after a write, so that text which was rolled back may remain.
  private func mayHaveWritten(_ error: any Error, since written: Int64) -> Bool {
    let error = error as? SQLiteError
    // In a damaged file, the list of free pages may contain pages that are in use.
    if error?.kind == .corrupt { return false }
    // `changedRowsInAll` does not count rows that a failed statement has written. Some statements,
    // such as `INSERT OR REPLACE`, check foreign keys after their writes.
    return connection.changedRowsInAll != written || error?.isForeignKeyViolation == true
  }

  /// Runs a unit and checks deferred foreign keys. Otherwise SQLite would check them on `COMMIT`
  /// and fail the whole group.
  private mutating func perform(_ unit: WriteUnit) throws -> @Sendable () -> Void {
    let start = shared.monotonic()
    defer {
      let end = shared.monotonic()
      throttle.note(unit, took: end - start, now: end)
    }
    let notify = try unit.run(connection)
    try connection.checkForeignKeys()
    return notify
  }

  /// Commits the group. If there was a failure before, fails all its units instead.
  private mutating func commit(unless failure: SQLiteError?) {
    defer { group.removeAll(keepingCapacity: true) }
    let start = shared.monotonic()
    do {
      if let failure { throw failure }
      try connection.commit()
    } catch {
      connection.rollBack()
      noteFailedCommit(error)
      fail(group.map(\.unit), with: error)
      checkpointFullDisk()
      return
    }
    commitMonitor.noteSuccess()
    let time = shared.monotonic() - start
    delay.noteCommit(of: group.count, time: time, waiting: shared.queue.count + taken.count)
    let failed = group.count { if case .failure = $0.outcome { true } else { false } }
    shared.counters.withLock { counters in
      counters.countCommit(of: group.count, failed: failed, time: time)
      counters.logPages = connection.database.logPages
    }
    // Passing a single handler to the other thread would take longer than calling it here.
    if group.count == 1, handlers.isIdle { return group[0].handler() }
    handlers.run(group.map(\.handler))
  }

  /// After a transaction has failed on a full disk, runs a checkpoint even if the WAL is short. The
  /// next transaction can then reuse the space of the WAL file.
  private mutating func checkpointFullDisk() {
    guard isDiskFull else { return }
    isDiskFull = false
    let now = shared.monotonic()
    // If the checkpoint must make the database file grow, it fails as well. So it does not run
    // after every failure.
    if let lastFullDiskCheckpoint, now - lastFullDiskCheckpoint < Self.fullDiskPause { return }
    lastFullDiskCheckpoint = now
    checkpoint()
  }

  private mutating func noteFailedCommit(_ error: any Error) {
    isDiskFull = (error as? SQLiteError)?.kind == .full
    shared.counters.withLock { $0.failedCommits += 1 }
    commitMonitor.noteFailure(error)
  }

  private mutating func checkpoint() {
    let start = shared.monotonic()
    do {
      try checkpointer.checkpoint(now: start)
      checkpointMonitor.noteSuccess()
      shared.counters.withLock { $0.checkpointTime.record(shared.monotonic() - start) }
    } catch {
      checkpointMonitor.noteFailure(error)
      shared.counters.withLock { $0.failedCheckpoints += 1 }
    }
  }

  /// Fails units after all earlier handlers were called, and before any other unit runs. So a
  /// handler can drop the result of a failed unit before later units use it.
  private func fail(_ units: [WriteUnit], with error: any Error) {
    handlers.waitUntilIdle()
    shared.counters.withLock { $0.failedUnits += units.count }
    for unit in units { unit.fail(error) }
  }
}

extension SQLiteConnection {
  /// The error of a group in which a unit broke its promise to throw only before its first change.
  fileprivate func brokenPromise(_ error: any Error) -> SQLiteError {
    database.error(
      SQLITE_ABORT,
      "a unit threw after its first write, although it promised to throw only before: \(error)"
    )
  }
}
