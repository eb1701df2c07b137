import LockstepThreading

/// What one caller wants to write.
@usableFromInline
struct WriteUnit: Sendable {
  /// Writes, and returns how to tell the caller once it is on disk.
  let run: @Sendable (SQLiteConnection) throws -> @Sendable () -> Void
  /// Tells the caller that nothing of it was kept.
  let fail: @Sendable (any Error) -> Void
  /// Whether it throws only before it has written anything, so that nothing has to be undone for it.
  let throwsUnwritten: Bool
  /// Whose it is; nil for nobody's in particular, which never waits for others of its kind.
  let owner: WriteOwner?

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

/// The writer's work, on the writer's thread: runs what waits, many units a transaction.
struct GroupCommit {
  private let connection: SQLiteConnection
  private let queue: WorkQueue<WriteUnit>
  private let figures: LockedState<DatabaseWriter.Statistics>
  private let settler: CommitNotifier
  private var log: WALCheckpointer
  private var commits: FailureMonitor
  private var checkpoints: FailureMonitor
  /// How long it's left at that where it was tried to make room in the log, in nanoseconds.
  private static let timeBetweenMakingRoom: Int64 = 1_000_000_000
  /// Whether the last transaction failed because the disk is full.
  private var isFull = false
  /// When it was last tried to make room in the log on a disk that has none.
  private var lastMadeRoom: Int64?
  private let groupLimit: Int
  private let monotonic: @Sendable () -> Int64
  /// What was taken from the queue and hasn't run yet, in its order.
  private var taken: ArraySlice<WriteUnit> = []
  private var gathering = CommitDelay()
  private var slowLane = WriteThrottle()
  /// The units that ran in the open transaction, in their order, and what became of each so far.
  private var group: [(unit: WriteUnit, outcome: Result<CommitNotifier.Tell, any Error>)] = []

  init(
    connection: SQLiteConnection,
    queue: WorkQueue<WriteUnit>,
    figures: LockedState<DatabaseWriter.Statistics>,
    settler: CommitNotifier,
    healthListener: LockedState<(@Sendable (DatabaseWriter.HealthChange) -> Void)?>,
    options: DatabaseWriter.Options,
    monotonic: @escaping @Sendable () -> Int64
  ) {
    self.connection = connection
    self.queue = queue
    self.figures = figures
    self.settler = settler
    log = WALCheckpointer(connection, options: options)
    commits = FailureMonitor(.commit, healthListener)
    checkpoints = FailureMonitor(.checkpoint, healthListener)
    groupLimit = options.groupLimit
    self.monotonic = monotonic
  }

  /// Runs and settles units until the queue is closed and empty.
  mutating func run() {
    while true {
      if let unit = nextSlow(othersWait: true) {
        writeGroup(startingWith: unit, alone: true)
      } else if let unit = nextTaken() {
        writeGroup(startingWith: unit)
      } else if let time = timeToRest(), !queue.isClosed {
        // Where nothing came, the clock says whether it's time.
        if let unit = queue.next(withinNanoseconds: time) { taken = [unit] }
        continue
      } else if let unit = nextSlow(othersWait: false) {
        writeGroup(startingWith: unit, alone: true)
      } else if let unit = queue.next() {
        // Put where the others are, which it may have to wait behind.
        taken = [unit]
        continue
      } else {
        break
      }
      if log.isDue() { checkpoint() }
    }
    settler.close()
  }

  /// How long to wait for others before the next unit of a slow owner; nil where none waits or it may run at once.
  private func timeToRest() -> Int64? { slowLane.isEmpty ? nil : slowLane.timeToRest(now: monotonic()) }

  /// The unit of a slow owner whose turn it is.
  private mutating func nextSlow(othersWait: Bool) -> WriteUnit? {
    slowLane.isEmpty ? nil : slowLane.next(now: monotonic(), othersWait: othersWait)
  }

  /// The oldest unit that waits now and isn't a slow owner's. Units are taken from the queue many at a time, so that its lock
  /// is rarely asked for by this thread and those that submit at once.
  private mutating func nextTaken() -> WriteUnit? {
    if taken.isEmpty { taken = queue.takeWaiting(atMost: groupLimit)[...] }
    while let unit = taken.popFirst() {
      if let admitted = admitted(unit) { return admitted }
    }
    return nil
  }

  /// The unit, unless its owner is slow: then it waits with its like, or is refused where too many do.
  private mutating func admitted(_ unit: WriteUnit) -> WriteUnit? {
    switch slowLane.admit(unit) {
    case .notMine: return unit
    case .waits: return nil
    case .full:
      fail([unit], with: WorkerPool.Overloaded(pool: "a user's long writes", capacity: WriteThrottle.capacity))
      return nil
    }
  }

  /// One transaction: this unit, and all that come to wait while it and those after it run, up to the limit; or this unit
  /// alone.
  private mutating func writeGroup(startingWith first: WriteUnit, alone: Bool = false) {
    gathering.begin()
    slowLane.begin()
    do {
      try connection.begin()
    } catch {
      // None has run, but each would meet the same lock or the same disk, and wait for it in its turn.
      let others = taken + queue.takeWaiting()
      taken = []
      noteFailedCommit(error)
      fail([first] + others, with: error)
      return
    }
    guard runFirst(first) else { return makeRoomInLog() }
    var undoing: SQLiteError?
    while !alone, undoing == nil, group.count < groupLimit, let unit = nextTaken() ?? gathered() {
      undoing = runNext(unit)
    }
    commit(unless: undoing)
  }

  /// A unit that was worth waiting for before the commit.
  private mutating func gathered() -> WriteUnit? {
    guard let time = gathering.timeToWait(with: group.count, now: monotonic()) else { return nil }
    return queue.next(withinNanoseconds: time).flatMap { admitted($0) }
  }

  /// Runs the first unit of a transaction. It needs no savepoint: when it fails, the transaction holds nothing else, and
  /// is undone as a whole. It has seen nothing but what is on disk, so that it can be told at once.
  private mutating func runFirst(_ unit: WriteUnit) -> Bool {
    do {
      group.append((unit, .success(try perform(unit))))
      return true
    } catch {
      connection.undo()
      if let error = error as? SQLiteError, error.isOfTheStore {
        commits.noteFailure(error, now: monotonic())
        isFull = error.kind == .full
      }
      fail([unit], with: error)
      return false
    }
  }

  /// Runs a unit so that it fails alone. Returns an error where the whole transaction must be undone or has been, by SQLite,
  /// as when the disk is full or fails.
  private mutating func runNext(_ unit: WriteUnit) -> SQLiteError? {
    let written = connection.changedRowsInAll
    do {
      group.append(
        (unit, .success(try unit.throwsUnwritten ? perform(unit) : connection.savepoint { try perform(unit) }))
      )
      return nil
    } catch {
      group.append((unit, .failure(error)))
      // All will be told it: one unit's own words would mean nothing to the others.
      guard connection.isInTransaction else {
        return error as? SQLiteError ?? connection.database.transactionGone(sql: "COMMIT")
      }
      guard unit.throwsUnwritten, connection.changedRowsInAll != written else { return nil }
      return error as? SQLiteError ?? connection.halfWritten(error)
    }
  }

  /// Runs a unit. Deferred foreign keys, which SQLite would look at on COMMIT, are looked at here, so that whoever breaks
  /// one fails alone.
  private mutating func perform(_ unit: WriteUnit) throws -> CommitNotifier.Tell {
    let start = monotonic()
    defer {
      let end = monotonic()
      slowLane.note(unit, took: end - start, now: end)
    }
    let tell = try unit.run(connection)
    try connection.expectWholeForeignKeys()
    return tell
  }

  /// Commits the group, or gives it up when it has been undone already, and settles all its units.
  private mutating func commit(unless undoing: SQLiteError?) {
    defer { group.removeAll(keepingCapacity: true) }
    let start = monotonic()
    do {
      if let undoing { throw undoing }
      try connection.commit()
    } catch {
      connection.undo()
      noteFailedCommit(error)
      fail(group.map(\.unit), with: error)
      makeRoomInLog()
      return
    }
    commits.noteSuccess()
    let time = monotonic() - start
    gathering.noteCommit(of: group.count, time: time, waiting: queue.count + taken.count)
    let failed = group.count { $0.outcome.isFailure }
    figures.withLock { figures in
      figures.countCommit(of: group.count, failed: failed, time: time)
      figures.logPages = connection.logPages
    }
    settle()
  }

  /// Tells what became of the units of a group that is on disk.
  private func settle() {
    // To hand a single one over would take longer than to tell it.
    if group.count == 1, settler.isIdle { return tell(group[0]) }
    settler.settle(group.map { entry in { Self.tell(entry) } })
  }

  private func tell(_ entry: (unit: WriteUnit, outcome: Result<CommitNotifier.Tell, any Error>)) { Self.tell(entry) }

  private static func tell(_ entry: (unit: WriteUnit, outcome: Result<CommitNotifier.Tell, any Error>)) {
    switch entry.outcome {
    case .success(let tell): tell()
    case .failure(let error): entry.unit.fail(error)
    }
  }

  /// On a disk without room moves the log's contents into the file now, however little there is: the next transaction then
  /// has all of the log for itself again, which takes room on the disk already, and need not wait until there is more.
  private mutating func makeRoomInLog() {
    guard isFull else { return }
    isFull = false
    let now = monotonic()
    // Where the file has to grow for it, that may fail again and again.
    if let lastMadeRoom, now - lastMadeRoom < Self.timeBetweenMakingRoom { return }
    lastMadeRoom = now
    checkpoint()
  }

  private mutating func noteFailedCommit(_ error: any Error) {
    isFull = (error as? SQLiteError)?.kind == .full
    figures.withLock { $0.failedCommits += 1 }
    commits.noteFailure(error, now: monotonic())
  }

  private mutating func checkpoint() {
    let start = monotonic()
    do {
      try log.checkpoint()
      checkpoints.noteSuccess()
      figures.withLock { $0.checkpointTime.record(monotonic() - start) }
    } catch {
      checkpoints.noteFailure(error, now: start)
      figures.withLock { $0.failedCheckpoints += 1 }
    }
  }

  /// Tells units that nothing of them was kept, after those before them and before any other runs: who keeps what a unit
  /// decided for the next one drops it now.
  private func fail(_ units: [WriteUnit], with error: any Error) {
    settler.finish()
    figures.withLock { $0.failedUnits += units.count }
    for unit in units { unit.fail(error) }
  }
}

extension Result {
  fileprivate var isFailure: Bool {
    switch self {
    case .success: false
    case .failure: true
    }
  }
}
