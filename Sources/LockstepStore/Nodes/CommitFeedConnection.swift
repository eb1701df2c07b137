import LockstepPostgreSQL
import LockstepTime

/// One connection of the feed. The thread of the feed uses it until it ends.
struct CommitFeedConnection {
  /// The time between two reads of the table `commits` if notifications arrive, and if not.
  private static let safetyInterval = Duration.milliseconds(500)
  private static let pollInterval = Duration.milliseconds(20)
  private static let renewalInterval = Duration.milliseconds(500)
  /// The shortest time between two notifications of this node. Each one stands for all commits since the
  /// one before.
  private static let notificationInterval = Duration.milliseconds(2)
  private static let waitingInterval = Duration.milliseconds(5)
  private static let upkeepInterval = Duration.seconds(30)
  /// The time between two looks at commits that wait for a standby.
  private static let standbyInterval = Duration.seconds(1)
  /// After a longer pause, everything in memory is compared with the store. Shorter than the time for which
  /// rows of `commits` are kept.
  private static let longestPause = Duration.seconds(240)

  let feed: CommitFeed
  let session: PostgreSQLSession
  let follower: any CommitFollower
  let upkeep: CommitFeed.Upkeep
  let channel: String
  /// Until this moment, another node may have a lease that this database does not know, because the
  /// database may have failed over.
  let unknownLeasesEnd: ContinuousClock.Instant
  /// The last snapshot. The memory knows of all commits that it sees.
  var snapshot: String
  var notificationsArrive: Bool
  var lastReading: ContinuousClock.Instant
  var lastRenewal: ContinuousClock.Instant
  /// Whether the last renewal came too late, so that the commits must be read and the lease be renewed at once.
  var mustReadAgain = false
  var lastNotification: ContinuousClock.Instant
  var lastUpkeep: ContinuousClock.Instant
  var lastStandbyCheck: ContinuousClock.Instant
  /// The time until waiting requests may check for entries of the journal again. It grows while a long
  /// transaction hides the entries.
  var journalInterval = Self.pollInterval
  var lastJournalNote: ContinuousClock.Instant

  init(
    _ feed: CommitFeed,
    _ connector: PostgreSQLConnector,
    _ follower: any CommitFollower,
    _ upkeep: @escaping CommitFeed.Upkeep,
    isFirst: Bool
  ) throws {
    (self.feed, self.follower, self.upkeep) = (feed, follower, upkeep)
    session = try connector.connect(.feed)
    channel = connector.channel
    let now = ContinuousClock.now
    let mayHaveFailedOver = try !isFirst || DatabaseTimeline.isNew(session)
    unknownLeasesEnd = mayHaveFailedOver ? now + NodeLease.length + .milliseconds(500) : now
    (lastReading, lastRenewal, lastNotification, lastUpkeep) = (now, now, now, now)
    (lastJournalNote, lastStandbyCheck) = (now, now)
    // Behind a pooler, a test could succeed by chance: it may have one connection of the server only once.
    notificationsArrive = try !session.connection.isPooled && Self.listen(on: channel, session)
    let arrives = notificationsArrive
    feed.change { contents in
      contents.statistics.notificationsArrive = arrives
      contents.statistics.connections += 1
    }
    // The row in `nodes` comes first: from then on, other nodes wait until this node knows of their
    // commits. Everything that is read later sees the earlier commits. A node that connects again keeps
    // the snapshot in its row, so others do not assume that its memory is up to date.
    let sentAt = NodeLease.now
    let row = try Self.renew(nil, feed, session)
    // After a failover, the row may be missing.
    feed.lease.begin(sentAt: sentAt, wasOver: row != .running)
    let readAt = NodeLease.now
    snapshot = try Self.presentSnapshot(session)
    try follower.verify(with: .postgreSQL(session))
    _ = try renewLease(readAt: readAt)
    measure()
    // The others learn that there is one more node to notify.
    try notify(Self.start)
  }

  /// Waits for something to do, and does it. Returns false if the connection must be closed.
  mutating func step() throws -> Bool {
    let pending = feed.pending
    let arrived = try session.connection.notifications(waitingAtMost: wait(for: pending), interrupt: feed.wakeSignal)
      .filter { !$0.payload.hasPrefix(feed.nodeID) }
    let present = feed.pending
    if present.isStopped, feed.completions.isEmpty {
      _ = try? session.connection.run(NodeRecords.leave, [.text(feed.ownNode.id)])
      return false
    }
    if present.mustReconnect { return false }
    let now = ContinuousClock.now
    // The process was stopped, and the rows that it has not read may have been deleted.
    if now - lastReading > Self.longestPause { return false }
    if present.mustCheckJournal, now - lastJournalNote >= journalInterval {
      let isRepeated = now - lastJournalNote < journalInterval * 2
      journalInterval = isRepeated ? min(Self.safetyInterval, journalInterval * 2) : Self.pollInterval
      lastJournalNote = now
      feed.change { $0.mustCheckJournal = false }
      follower.journalMayHaveGrown()
    }
    if present.mustNotify, now - lastNotification >= Self.notificationInterval { try notify() }
    let interval = notificationsArrive ? Self.safetyInterval : Self.pollInterval
    let isNewNode = arrived.contains { $0.payload.hasSuffix(Self.start) }
    var mustRenew = isNewNode || present.mustRenew || mustReadAgain || now - lastRenewal >= Self.renewalInterval
    if !arrived.isEmpty || mustRenew || now - lastReading >= interval {
      let readAt = NodeLease.now
      let mustBeKnownByAll = try readCommits()
      mustRenew = mustRenew || mustBeKnownByAll
      if mustRenew {
        // This time is not later than `lastReading`, so the next read comes with the next renewal.
        lastRenewal = now
        // If the row of this node is missing, another node deleted it long after the end of the lease. Rows of
        // `commits` may be missing too.
        if try !renewLease(readAt: readAt) { return false }
      }
      // So a node that waits for this one checks the row of this one at once.
      if mustBeKnownByAll { try notify() }
    }
    if now >= unknownLeasesEnd { try completeKnown() }
    if now - lastStandbyCheck >= Self.standbyInterval {
      lastStandbyCheck = now
      feed.noteStandby(isSilent: try StandbyWaits.areLong(in: session))
    }
    if now - lastUpkeep >= Self.upkeepInterval {
      lastUpkeep = now
      measure()
    }
    return true
  }

  private func wait(for pending: CommitFeed.Contents) -> Duration {
    if mustReadAgain { return .zero }
    let now = ContinuousClock.now
    var next = min(
      lastRenewal + Self.renewalInterval,
      lastReading + (notificationsArrive ? Self.safetyInterval : Self.pollInterval)
    )
    if pending.mustCheckJournal { next = min(next, lastJournalNote + journalInterval) }
    if pending.mustNotify { next = min(next, lastNotification + Self.notificationInterval) }
    if !feed.completions.isEmpty { next = min(next, now + Self.waitingInterval) }
    return max(.zero, next - now)
  }

  /// Reads the new commits. Returns whether one of them ends a right.
  private mutating func readCommits() throws -> Bool {
    lastReading = .now
    let reading = try CommitRows.changes(after: snapshot, except: feed.pending.origin, from: session)
    if !reading.changes.isEmpty {
      try follower.apply(reading.changes, from: .postgreSQL(session))
      feed.change { contents in
        contents.statistics.readings += 1
        contents.statistics.lastDelay = reading.delay ?? .zero
      }
    }
    snapshot = reading.snapshot
    return reading.changes.mustBeKnownByAll
  }

  /// Marks the notification of a node that has just started.
  private static let start = "+"

  /// Deletes old rows, and measures the database.
  private func measure() { Self.upkeep(feed, upkeep) }

  private static func upkeep(_ feed: CommitFeed, _ upkeep: @escaping CommitFeed.Upkeep) {
    upkeep { [weak feed] result in
      guard let feed, let outcome = try? result.get() else { return }
      feed.change { $0.statistics.databaseBytes = outcome.databaseBytes }
      if outcome.isPart { Self.upkeep(feed, upkeep) }
    }
  }

  private mutating func notify(_ mark: String = "") throws {
    feed.change { $0.mustNotify = false }
    lastNotification = .now
    try session.connection.run(Self.sendNotification, [.text(channel), .text(feed.nodeID + mark)])
  }

  private func completeKnown() throws {
    let commits = feed.completions.commits
    if commits.isEmpty { return }
    let known = try session.connection.query(
      NodeRecords.readApplied,
      [.text(feed.ownNode.id), .integers(commits.map { Int64($0.transaction) })]
    )
    var ids: Set<CommitID> = []
    try known.forEach { ids.insert(CommitID(transaction: try $0.integer(at: 0))) }
    feed.completions.complete(ids)
  }

  /// Renews the lease after the commits were read. `readAt` is a time before that. Returns false if the row was
  /// missing.
  private mutating func renewLease(readAt: Int64) throws -> Bool {
    let sentAt = NodeLease.now
    let row = try Self.renew(snapshot, feed, session)
    let outcome = feed.lease.note(
      NodeLease.Renewal(readAt: readAt, sentAt: sentAt, receivedAt: NodeLease.now, wasOver: row != .running)
    )
    mustReadAgain = outcome == .over
    if outcome == .regained { follower.leaseWasRegained() }
    return row != .missing
  }

  /// The row of this node before a renewal.
  private enum Row {
    case running
    /// The lease was over, by the clock of the database.
    case over
    case missing
  }

  /// Renews the row of this node, and reads the other nodes.
  private static func renew(_ snapshot: String?, _ feed: CommitFeed, _ session: PostgreSQLSession) throws -> Row {
    let node = feed.ownNode
    let address = feed.pending.address
    let result = try session.connection.query(
      NodeRecords.renew,
      [
        .text(node.id), address.map { .text($0) } ?? .null, .text(node.version), .integer(node.startedAt),
        snapshot.map { .text($0) } ?? .null,
      ]
    )
    let own = result.row(0)
    let row: Row = try own.integer(at: 0) == 1 ? .missing : own.integer(at: 1) == 1 ? .over : .running
    var others: [CommitFeed.OtherNode] = []
    try result.forEach { row in
      guard !row.isNull(at: 2) else { return }
      let address = row.isNull(at: 3) ? nil : try row.text(at: 3)
      others.append(.init(id: try row.text(at: 2), address: address, holdsLease: try row.integer(at: 4) == 1))
    }
    feed.noteRenewal(of: address, others, isOwnRunning: row == .running)
    return row
  }

  /// Subscribes to the notifications of the store. Returns whether they arrive: behind a pooler they
  /// may not.
  private static func listen(on channel: String, _ session: PostgreSQLSession) throws -> Bool {
    try session.connection.listen(channel)
    let payload = String(UInt64.random(in: .min ... .max), radix: 36)
    try session.connection.run(sendNotification, [.text(channel), .text(payload)])
    let deadline = ContinuousClock.now + .seconds(1)
    while ContinuousClock.now < deadline {
      let arrived = try session.connection.notifications(waitingAtMost: deadline - ContinuousClock.now)
      if arrived.contains(where: { $0.payload == payload }) { return true }
    }
    return false
  }

  private static func presentSnapshot(_ session: PostgreSQLSession) throws -> String {
    try session.connection.query(readSnapshot, []).row(0).text(at: 0)
  }

  private static let sendNotification = PostgreSQLStatement("SELECT pg_notify($1, $2)")
  private static let readSnapshot = PostgreSQLStatement("SELECT pg_current_snapshot()::text")
}
