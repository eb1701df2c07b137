import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLiteStore
import LockstepThreading
import LockstepTime

/// Commits transactions in groups, on its own thread and connection.
///
/// A group takes two round trips. The first one locks the group's users, in the order of their locks'
/// numbers, and reads what this node lacks: journal entries of other nodes, the sessions of the requests,
/// and recorded responses. Then all transactions are decided in memory. The second round trip writes, and
/// commits. Between the two, insertions and moves in lists need a third one for the ranks beside them.
///
/// All nodes lock in the same order, so there is no deadlock. A transaction that is refused is not in
/// the second round trip, so no savepoints are needed.
///
/// Users whose transactions take long are throttled (`WriteThrottle`), and the time in which a group is
/// decided is limited.
package final class PostgreSQLGroupCommit: Sendable {
  private static let capacity = 4_096
  /// The most transactions of a group. Locks are held until the group is on disk, so groups are small.
  private static let groupLimit = 128

  /// For how long the commit of a group shows that groups can be committed, in nanoseconds.
  private static let recent: Int64 = 2_000_000_000

  private let queue = WorkQueue<WriterWork>(name: "writer", capacity: capacity)
  private let monotonic: @Sendable () -> Int64
  private let lastCommit = LockedState(Int64.min)
  private let thread: LockedState<NamedThread?>
  let statistics = LockedState(DatabaseWriter.Statistics())

  init(
    connector: PostgreSQLConnector,
    tables: ModuleTables,
    feed: CommitFeed,
    flag: StateEventFlag,
    monitor: FailureMonitor,
    monotonic: @escaping @Sendable () -> Int64
  ) throws {
    let (queue, statistics, lastCommit) = (queue, statistics, lastCommit)
    self.monotonic = monotonic
    let handlers = try HandlerThread(name: "writer-notifier")
    let handedOver = LockedState<FailureMonitor?>(monitor)
    thread = LockedState(
      try NamedThread(name: "writer") {
        guard let monitor = handedOver.withLock({ $0.take() }) else { return }
        var loop = GroupLoop(
          queue,
          connector,
          tables,
          feed,
          flag,
          handlers,
          monitor,
          statistics,
          lastCommit,
          monotonic
        )
        loop.run(groupLimit: Self.groupLimit)
      }
    )
  }

  deinit { stopAccepting()?.detach() }

  package func submit(_ transaction: PendingTransaction) throws { try queue.offer(.transaction(transaction)) }

  /// Returns when groups can be committed. Connects if there is no connection. Unless a group was committed
  /// a moment ago or is committed meanwhile, `unit` is: it must write something.
  nonisolated(nonsending) func check(_ unit: @escaping @Sendable (StoreConnection) throws -> Void) async throws {
    // The groups may wait for the locks of some users.
    let last = lastCommit.withLock { $0 }
    if last != .min, monotonic() - last < Self.recent { return }
    try await withCompletion { try queue.offer(.check(CommitCheck(unit: unit, completion: $0))) }
  }

  var waiting: Int { queue.count }

  /// Accepts no more transactions. Returns when all handlers have been called.
  func shutDown() { stopAccepting()?.join() }

  private func stopAccepting() -> NamedThread? {
    queue.close()
    return thread.withLock { $0.take() }
  }
}

private struct GroupLoop {
  let queue: WorkQueue<WriterWork>
  let connector: PostgreSQLConnector
  let tables: ModuleTables
  let feed: CommitFeed
  let flag: StateEventFlag
  let handlers: HandlerThread
  var monitor: FailureMonitor
  let statistics: LockedState<DatabaseWriter.Statistics>
  let lastCommit: LockedState<Int64>
  let monotonic: @Sendable () -> Int64
  var session: PostgreSQLSession?
  /// Whether one of the last groups was committed.
  private var hasCommitted = false
  /// For how many more transactions each group has only one user, because a group has failed and the
  /// reason may be one user's rows.
  private var isolated = 0
  private static let isolatedTransactions = 256
  /// Transactions of users that transactions of others have locked, and those that must stay before throttled
  /// ones of the same user. They are tried again with the next groups.
  private var postponed: [PendingTransaction] = []
  /// When the transactions of these users fail.
  private var postponedUntil: [UserID: Int64] = [:]
  /// How long a transaction is postponed, in nanoseconds.
  private static let longestPostponement: Int64 = 4_000_000_000
  private static let postponedInterval: Int64 = 20_000_000
  private var lockedUsers: LockedUsers
  private var busyUsers: BusyUsers
  private var throttle = WriteThrottle<PendingTransaction>()
  /// Transactions that no group has decided yet, and checks that have not run, in order.
  private var taken: [PendingTransaction] = []
  private var checks: [CommitCheck] = []
  /// The transactions that fail if the present group does.
  private var attempted: [PendingTransaction] = []
  /// The longest time for the decisions on a group, in nanoseconds. Its users are locked meanwhile.
  private static let longestDecision: Int64 = 50_000_000

  init(
    _ queue: WorkQueue<WriterWork>,
    _ connector: PostgreSQLConnector,
    _ tables: ModuleTables,
    _ feed: CommitFeed,
    _ flag: StateEventFlag,
    _ handlers: HandlerThread,
    _ monitor: FailureMonitor,
    _ statistics: LockedState<DatabaseWriter.Statistics>,
    _ lastCommit: LockedState<Int64>,
    _ monotonic: @escaping @Sendable () -> Int64
  ) {
    self.lastCommit = lastCommit
    (self.queue, self.connector, self.tables, self.feed) = (queue, connector, tables, feed)
    self.flag = flag
    (self.handlers, self.monitor, self.statistics, self.monotonic) = (handlers, monitor, statistics, monotonic)
    lockedUsers = LockedUsers(monitor: monitor.of(.lockedUser), monotonic: monotonic)
    busyUsers = BusyUsers(monitor: monitor.of(.busyUser))
  }

  mutating func run(groupLimit: Int) {
    while true {
      if let transaction = nextThrottled(othersWait: true) {
        writeAlone(transaction)
        continue
      }
      take(queue.takeWaiting(atMost: max(0, groupLimit - taken.count)))
      let next = nextGroup()
      if !next.isEmpty || !checks.isEmpty {
        writeGroup(next)
      } else if let (time, isRest) = timeToWait() {
        if let work = queue.next(withinNanoseconds: time) {
          take([work])
        } else if isRest, let transaction = nextThrottled(othersWait: false) {
          writeAlone(transaction)
        } else {
          writeGroup([])
        }
      } else if let transaction = nextThrottled(othersWait: false) {
        writeAlone(transaction)
      } else if let work = queue.next() {
        take([work])
      } else {
        break
      }
    }
    session?.connection.close()
    handlers.close()
  }

  private mutating func take(_ work: [WriterWork]) {
    for work in work {
      switch work {
      case .transaction(let transaction): taken.append(transaction)
      case .check(let check): checks.append(check)
      }
    }
  }

  /// The taken transactions whose users are not throttled. Throttled ones wait, or fail if too many wait.
  private mutating func nextGroup() -> [PendingTransaction] {
    let candidates = taken
    taken = []
    return candidates.filter { transaction in
      switch throttle.admit(transaction, now: monotonic()) {
      case .unthrottled: return true
      case .waits: return false
      case .full:
        handlers.waitUntilIdle()
        statistics.withLock { $0.countFailed(1) }
        let capacity = WriteThrottleLimits.capacity
        transaction.fail(PoolOverloadedError(pool: "throttled writes", capacity: capacity))
        return false
      }
    }
  }

  private mutating func nextThrottled(othersWait: Bool) -> PendingTransaction? {
    throttle.isEmpty ? nil : throttle.next(now: monotonic(), othersWait: othersWait)
  }

  /// How many nanoseconds to wait for other work before the next throttled transaction runs, or before
  /// postponed ones are tried again. Nil if there are none, or if the throttled one may run now. `isRest`: whether
  /// the throttled one runs if no other work comes in this time.
  private func timeToWait() -> (time: Int64, isRest: Bool)? {
    let postponed = postponed.isEmpty ? nil : Self.postponedInterval
    let rest = throttle.isEmpty || queue.isClosed ? nil : throttle.timeToRest(now: monotonic())
    guard let rest else { return throttle.isEmpty ? postponed.map { ($0, isRest: false) } : nil }
    let time = min(rest, postponed ?? rest)
    return (time, isRest: time == rest)
  }

  /// Writes this throttled transaction together with the postponed ones. Only its own time counts for its user. The
  /// time of the others does not count, nor the time in which the group waits for locks and for its commit.
  private mutating func writeAlone(_ transaction: PendingTransaction) {
    writeGroup([transaction], alone: transaction.owner)
    throttle.endAlone(took: throttle.timeAlone, now: monotonic())
  }

  /// Writes transactions together with the postponed ones, and then runs the checks. `alone`: the owner of the one
  /// throttled transaction.
  private mutating func writeGroup(_ transactions: [PendingTransaction], alone owner: WriteOwner? = nil) {
    throttle.begin(alone: owner)
    // The group has postponed transactions of the same users too, because each user's order must stay.
    let group = postponed + transactions
    postponed = []
    hasCommitted = false
    let (free, attempts) = lockedUsers.split(group)
    if isolated == 0 { write(free) } else { writeByUser(free) }
    writeByUser(attempts)
    let checks = checks
    self.checks = []
    for check in checks { run(check) }
  }

  private mutating func writeByUser(_ group: [PendingTransaction]) {
    isolated = max(0, isolated - group.count)
    for user in Set(group.map(\.user)) { write(group.filter { $0.user == user }, isAlone: true) }
  }

  /// `isAlone`: the group has the transactions of one user, whose rows another program may have locked.
  private mutating func write(_ group: [PendingTransaction], isAlone: Bool = false) {
    if group.isEmpty { return }
    attempted = group
    do {
      let locked: PostgreSQLGroup
      do {
        locked = try lock(group, isAlone: isAlone)
      } catch let error as PostgreSQLError where error.isLostConnection {
        // Nothing is decided yet. The connection may have been lost long ago.
        session = nil
        locked = try lock(attempted, isAlone: isAlone)
      } catch let error as PostgreSQLError where error.kind == .lockTimeout {
        try session?.rollBack()
        locked = try lockWithoutWaiting(attempted)
      }
      busyUsers.noteLocks(of: locked.transactions.lazy.map(\.user), now: monotonic())
      try finish(locked)
      monitor.noteSuccess()
      if isAlone { lockedUsers.noteSuccess(of: group[0].user) }
    } catch {
      if !dropSession(lostBy: error) {
        try? session?.rollBack()
        isolated = Self.isolatedTransactions
      }
      if let error = error as? PostgreSQLError, error.kind == .lockTimeout {
        let user = group[0].user
        // If a commit waits for a synchronous standby, it has the locks, and no other program is to blame.
        let waitsForStandby = (try? session.map(StandbyWaits.exist(in:))) == true
        if group.allSatisfy({ $0.user == user }) { lockedUsers.noteLock(of: user, waitsForStandby ? nil : error) }
      } else {
        monitor.noteFailure(feed.reason(of: error))
        statistics.withLock { $0.countFailedCommit(of: attempted.count) }
      }
      // No later transaction is decided before the results of these ones are dropped.
      handlers.waitUntilIdle()
      for transaction in attempted { transaction.fail(error) }
    }
    attempted = []
  }

  /// Drops the session if nothing can be committed with it any more. Returns whether it did.
  private mutating func dropSession(lostBy error: any Error) -> Bool {
    guard session?.connection.isBroken == true || (error as? PostgreSQLError)?.kind == .readOnly else { return false }
    session = nil
    feed.writerLost()
    return true
  }

  private mutating func run(_ check: CommitCheck) {
    // The group has shown the same.
    if hasCommitted { return check.completion(.success(())) }
    do {
      do {
        try commit(check.unit)
      } catch let error as PostgreSQLError where error.isLostConnection {
        // The connection may have been lost long ago.
        session = nil
        try commit(check.unit)
      }
      check.completion(.success(()))
    } catch {
      _ = dropSession(lostBy: error)
      check.completion(.failure(error))
    }
  }

  private mutating func commit(_ unit: (StoreConnection) throws -> Void) throws {
    let session = try session ?? connect()
    self.session = session
    try session.transaction { try unit(.postgreSQL(session)) }
  }

  /// The first round trip.
  private mutating func lock(_ transactions: [PendingTransaction], isAlone: Bool) throws -> PostgreSQLGroup {
    let session = try session ?? connect()
    self.session = session
    guard postponedUntil.isEmpty else { return try lockWithoutWaiting(transactions) }
    return try PostgreSQLGroup(transactions, in: session, waitsBriefly: isAlone)
  }

  /// Locks the users that no other transaction has locked, and postpones the transactions of the others. A
  /// node that hangs may hold its locks for seconds.
  private mutating func lockWithoutWaiting(_ group: [PendingTransaction]) throws -> PostgreSQLGroup {
    let session = try session ?? connect()
    self.session = session
    let busy = try PostgreSQLGroup.busyUsers(of: group, in: session)
    let now = monotonic()
    let deadlines = postponedUntil
    postponedUntil = [:]
    for transaction in group where busy.contains(transaction.user) {
      let deadline = deadlines[transaction.user] ?? now + Self.longestPostponement
      if deadline <= now {
        busyUsers.noteFailure(of: transaction.user, now: now)
        transaction.fail(UserLockedError())
      } else {
        postponed.append(transaction)
        postponedUntil[transaction.user] = deadline
      }
    }
    attempted = group.filter { !busy.contains($0.user) }
    return try PostgreSQLGroup(attempted, in: session, begins: false)
  }

  private func connect() throws -> PostgreSQLSession {
    try feed.expectConfirmedCommits()
    let session = try connector.connect(.writer)
    let (timeline, recordedChange) = try DatabaseTimeline.record(session)
    // No state of the last connection is published after the listener has dropped them all.
    handlers.waitUntilIdle()
    let change = connector.writerHasConnected(in: timeline) ?? recordedChange
    feed.writerConnected(session.origin)
    if let change { feed.report(change.notice) }
    return session
  }

  private mutating func finish(_ group: PostgreSQLGroup) throws {
    guard let session else { return }
    feed.noteOutdated(group.outdatedStates)
    flag.set(group.notifiesWebhooks, since: flag.version)
    if group.declared != tables.modules.current.revision { try tables.readDeclaredAgain(from: .postgreSQL(session)) }
    let decided = group.decide(
      by: tables,
      within: Self.longestDecision,
      monotonic: monotonic,
      throttle: &throttle
    )
    // If a user has throttled transactions, these ones must stay before them. So they do not go back to `taken`.
    let isFirst = { [throttle] (transaction: PendingTransaction) in throttle.waits(transaction.subject.owner) }
    postponed += decided.rest.filter(isFirst)
    taken = decided.rest.filter { !isFirst($0) } + taken
    attempted = decided.outcomes.map(\.transaction)
    let start = monotonic()
    if decided.writes.isEmpty {
      // Nothing is written, so the end of the transaction need not be awaited before the handlers run.
      try session.rollBack()
    } else {
      try group.commit(decided.writes, in: session)
      hasCommitted = true
      feed.noteCommit()
    }
    let end = monotonic()
    let time = end - start
    if hasCommitted { lastCommit.withLock { $0 = end } }
    let failed = decided.outcomes.count { if case .failure = $0.outcome { true } else { false } }
    statistics.withLock { $0.countCommit(of: decided.outcomes.count, failed: failed, time: time) }
    handlers.run(
      decided.outcomes.map { transaction, outcome in
        switch outcome {
        case .success(let complete): complete
        case .failure(let error): { transaction.fail(error) }
        }
      }
    )
  }
}

/// Another transaction has locked the user for seconds. Nothing was changed.
package struct UserLockedError: Error {}
