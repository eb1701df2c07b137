import LockstepPostgreSQL
import LockstepThreading
import LockstepTime

/// Connects this server with the others that use its store in PostgreSQL.
///
/// Each transaction that changes something leaves a row in the table `commits`. A thread reads the rows of
/// the other servers: those that its last snapshot did not see and its present one sees. So it gets each
/// row once, whatever the order of the commits. A notification tells it when to look. If notifications do
/// not arrive, it looks every 20 ms.
///
/// The thread also renews this server's lease (`NodeLease`), and tells when all servers know of a commit.
///
/// After each new connection, everything in memory is compared with the store.
package final class CommitFeed: Sendable {
  struct Node: Sendable {
    let id: String
    let version: String
    let startedAt: Int64
  }

  fileprivate struct Contents: Sendable {
    /// The origin of the commits of this server's writer.
    var origin = PostgreSQLUUID(high: 0, low: 0)
    var address: String?
    /// Whether this server has committed something of which the others were not notified yet.
    var mustNotify = false
    var mustReconnect = false
    /// Whether the row in `nodes` is to be written at once, because it lacks the address.
    var mustRenew = false
    /// Whether requests wait for entries of the journal that do not count yet.
    var mustLook = false
    var isStopped = false
    /// Set when the thread has compared the memory with the store for the first time, or has failed.
    var start: Result<Void, any Error>?
    var statistics = Statistics()
    /// The other servers whose lease runs.
    var others: [OtherNode] = [] {
      didSet { statistics.otherNodes = others.count }
    }
  }

  fileprivate struct OtherNode: Sendable {
    let id: String
    let address: String?
  }

  package struct Statistics: Sendable {
    /// Whether notifications of other servers arrive. If not, the connection goes through a pooler.
    package var notificationsArrive = true
    /// The other servers whose lease runs.
    package var otherNodes = 0
    /// How often this server has read commits of other servers, and the age of the oldest one at the last
    /// time.
    package var readings = 0
    package var lastDelay = Duration.zero
    /// How many connections this server has made to follow the others.
    package var connections = 0
    /// How many users had a state in memory that lacked commits of other servers when a write began.
    package var outdatedStates = 0
    package var databaseBytes = 0

    package init() {}
  }

  package let lease = NodeLease()
  private let connector: PostgreSQLConnector
  private let node: Node
  private let contents = LockedState(Contents())
  fileprivate let completions = CommitCompletions()
  private let interrupt: PostgreSQLInterrupt
  private let thread = LockedState<NamedThread?>(nil)

  init(_ connector: PostgreSQLConnector, node: Node) throws {
    (self.connector, self.node) = (connector, node)
    interrupt = try PostgreSQLInterrupt()
  }

  /// The id of this server.
  package var nodeID: String { node.id }

  package var statistics: Statistics { contents.withLock { $0.statistics } }

  /// Counts users whose state in memory lacked commits of other servers when a write began.
  func noteOutdated(_ count: Int) { contents.withLock { $0.statistics.outdatedStates += count } }

  /// Deletes rows that no server needs any more, on another thread.
  typealias Upkeep = @Sendable (@escaping @Sendable (Result<NodeUpkeep.Outcome, any Error>) -> Void) -> Void

  /// Starts to follow the other servers. Returns when the memory was compared with the store. Sometimes
  /// calls `upkeep`.
  func start(_ follower: any CommitFollower, upkeep: @escaping Upkeep) throws {
    try completions.start()
    let loop = FeedLoop(self, connector, follower, upkeep)
    let new = try NamedThread(name: "feed") { loop.run() }
    thread.withLock { $0 = new }
    try contents.wait { $0.start }.get()
  }

  /// Ends the lease. Call this after the writers have stopped.
  func shutDown() {
    if let thread = thread.withLock({ $0.take() }) {
      contents.withLock { $0.isStopped = true }
      interrupt.interrupt()
      thread.join()
    }
    completions.shutDown()
  }

  /// Sets the URL at which the other servers reach this one. Waits a moment until they can know it.
  package func setAddress(_ address: String) {
    contents.withLock { ($0.address, $0.mustRenew) = (address, true) }
    interrupt.interrupt()
    _ = contents.wait(atMost: Self.addressPatience.wholeNanoseconds) { $0.mustRenew ? nil : () }
  }

  private static let addressPatience = Duration.seconds(1)

  /// The URL of another server whose lease runs, by the beginning of its id. Nil if there is no such
  /// server, or others cannot reach it.
  package func address(ofNodeWithPrefix prefix: String) -> String? {
    contents.withLock { $0.others.first { $0.id.hasPrefix(prefix) }?.address }
  }

  /// Takes over the servers that were just read from the store.
  package func note(_ nodes: [NodeRecord]) {
    let others = nodes.filter { $0.id != node.id }.map { OtherNode(id: $0.id, address: $0.address) }
    contents.withLock { $0.others = others }
  }

  /// The writer has lost its connection. Its last commit may be in the database all the same, and this
  /// server does not know.
  func writerLost() {
    contents.withLock { contents in
      guard contents.origin.high != 0 else { return }
      contents.mustReconnect = true
      // From now on, the commit is read like one of another server.
      contents.origin = PostgreSQLUUID(high: 0, low: 0)
    }
    interrupt.interrupt()
  }

  /// The writer has a new connection. If it is not the first one, the database may be another one.
  func writerConnected(_ origin: PostgreSQLUUID) {
    contents.withLock { contents in
      if contents.origin.high != 0 { contents.mustReconnect = true }
      contents.origin = origin
    }
    interrupt.interrupt()
  }

  /// A group of transactions was committed.
  func noteCommit() {
    let isFirst = contents.withLock { contents in
      guard contents.statistics.otherNodes > 0, !contents.mustNotify else { return false }
      contents.mustNotify = true
      return true
    }
    if isFirst { interrupt.interrupt() }
  }

  /// Requests wait for entries of the journal that do not count yet. Looks again soon.
  package func lookSoon() {
    contents.withLock { $0.mustLook = true }
    interrupt.interrupt()
  }

  /// Calls `completion` when no other server can answer without knowing of the commit, at the latest when the
  /// leases of those that do not know are over.
  func whenKnown(_ commit: CommitID, _ completion: @escaping @Sendable () -> Void) {
    let isRunning = thread.withLock { $0 != nil }
    // A command has no memory, and waits for the servers in its own way.
    guard isRunning else { return completion() }
    completions.add(commit, completion)
    contents.withLock { $0.mustNotify = true }
    interrupt.interrupt()
  }

  fileprivate var pending: Contents { contents.withLock { $0 } }
  fileprivate var wakeSignal: PostgreSQLInterrupt { interrupt }
  fileprivate var ownNode: Node { node }
  fileprivate func change(_ body: (inout Contents) -> Void) { contents.withLock(body) }

  /// The table `nodes` has this address of this server.
  fileprivate func noteRenewal(of address: String?, _ others: [OtherNode]) {
    contents.withLock { contents in
      contents.others = others
      // The address may have been set in between.
      if contents.address == address { contents.mustRenew = false }
    }
    contents.wakeAll()
  }

  fileprivate func setStart(_ result: Result<Void, any Error>) {
    contents.withLock { if $0.start == nil { $0.start = result } }
    contents.wakeAll()
  }
}

/// The work of the feed's thread.
private final class FeedLoop: Sendable {
  /// The time between two looks at the table `commits` if notifications arrive, and if not.
  private static let safetyInterval = Duration.milliseconds(500)
  private static let pollInterval = Duration.milliseconds(20)
  private static let renewalInterval = Duration.milliseconds(500)
  /// The shortest time between two notifications of this server, which tell about all commits in between.
  private static let notificationInterval = Duration.milliseconds(2)
  private static let waitingInterval = Duration.milliseconds(5)
  private static let upkeepInterval = Duration.seconds(30)
  /// After a longer pause, everything in memory is compared with the store. Shorter than the time for which
  /// rows of `commits` are kept.
  private static let longestPause = Duration.seconds(240)

  private let feed: CommitFeed
  private let connector: PostgreSQLConnector
  private let follower: any CommitFollower

  private let upkeep: CommitFeed.Upkeep

  init(
    _ feed: CommitFeed,
    _ connector: PostgreSQLConnector,
    _ follower: any CommitFollower,
    _ upkeep: @escaping CommitFeed.Upkeep
  ) {
    (self.feed, self.connector, self.follower, self.upkeep) = (feed, connector, follower, upkeep)
  }

  func run() {
    var attempt = 0
    var isFirst = true
    while !feed.pending.isStopped {
      do {
        // This comes first: everything is compared after it.
        feed.change { $0.mustReconnect = false }
        var following = try Following(feed, connector, follower, upkeep, isFirst: isFirst)
        feed.setStart(.success(()))
        (attempt, isFirst) = (0, false)
        while try following.step() {}
      } catch {
        feed.setStart(.failure(error))
        attempt += 1
        PostgreSQLConnector.pause(for: .milliseconds(min(1_000, 50 << min(attempt, 5))))
      }
    }
  }

  /// One connection of the feed.
  private struct Following {
    let feed: CommitFeed
    let session: PostgreSQLSession
    let follower: any CommitFollower
    let upkeep: CommitFeed.Upkeep
    let channel: String
    /// Until then, another server may have a lease that this database does not know, because the database
    /// may have failed over.
    let unknownLeasesEnd: ContinuousClock.Instant
    /// The last snapshot. The memory knows of all commits that it sees.
    var snapshot: String
    var notificationsArrive: Bool
    var lastLook: ContinuousClock.Instant
    var lastRenewal: ContinuousClock.Instant
    var lastNotification: ContinuousClock.Instant
    var lastUpkeep: ContinuousClock.Instant
    /// The time until the next look for entries of the journal. It grows while a long transaction hides them.
    var journalInterval = FeedLoop.pollInterval
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
      (lastLook, lastRenewal, lastNotification, lastUpkeep) = (now, now, now, now)
      lastJournalNote = now
      notificationsArrive = try Self.listen(on: channel, session)
      let arrives = notificationsArrive
      feed.change { contents in
        contents.statistics.notificationsArrive = arrives
        contents.statistics.connections += 1
      }
      // The row in `nodes` comes first: from then on, others wait until this server knows of their
      // commits. Everything that is read later sees the earlier commits. A server that comes back keeps
      // its row, so others do not take its old memory for the present one.
      _ = try Self.renew(nil, feed, session)
      snapshot = try Self.presentSnapshot(session)
      let start = NodeLease.now
      try follower.verify(with: .postgreSQL(session))
      _ = try Self.renew(snapshot, feed, session)
      if feed.lease.renew(at: start) { follower.leaseWasRegained() }
      measure()
      // The others learn that there is one more server to notify.
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
      if now - lastLook > FeedLoop.longestPause { return false }
      if present.mustLook, now - lastJournalNote >= journalInterval {
        let isRepeated = now - lastJournalNote < journalInterval * 2
        journalInterval = isRepeated ? min(FeedLoop.safetyInterval, journalInterval * 2) : FeedLoop.pollInterval
        lastJournalNote = now
        feed.change { $0.mustLook = false }
        follower.journalMayHaveGrown()
      }
      if present.mustNotify, now - lastNotification >= FeedLoop.notificationInterval { try notify() }
      let interval = notificationsArrive ? FeedLoop.safetyInterval : FeedLoop.pollInterval
      let isNewNode = arrived.contains { $0.payload.hasSuffix(Self.start) }
      var mustRenew = isNewNode || present.mustRenew || now - lastRenewal >= FeedLoop.renewalInterval
      if !arrived.isEmpty || mustRenew || now - lastLook >= interval {
        let start = NodeLease.now
        let endsRights = try look()
        mustRenew = mustRenew || endsRights
        if mustRenew {
          // Its row was deleted long after the end of its lease. Rows of `commits` may be missing too.
          if try Self.renew(snapshot, feed, session) { return false }
          lastRenewal = now
          if feed.lease.renew(at: start) { follower.leaseWasRegained() }
        }
        // A server that waits for this one looks at once.
        if endsRights { try notify() }
      }
      if now >= unknownLeasesEnd { try completeKnown() }
      if now - lastUpkeep >= FeedLoop.upkeepInterval {
        lastUpkeep = now
        measure()
      }
      return true
    }

    private func wait(for pending: CommitFeed.Contents) -> Duration {
      let now = ContinuousClock.now
      var next = min(
        lastRenewal + FeedLoop.renewalInterval,
        lastLook + (notificationsArrive ? FeedLoop.safetyInterval : FeedLoop.pollInterval)
      )
      if pending.mustLook { next = min(next, lastJournalNote + journalInterval) }
      if pending.mustNotify { next = min(next, lastNotification + FeedLoop.notificationInterval) }
      if !feed.completions.isEmpty { next = min(next, now + FeedLoop.waitingInterval) }
      return max(.zero, next - now)
    }

    /// Reads the new commits. Returns whether one of them ends a right.
    private mutating func look() throws -> Bool {
      lastLook = .now
      let reading = try CommitRows.news(after: snapshot, except: feed.pending.origin, from: session)
      if !reading.news.isEmpty {
        try follower.apply(reading.news, from: .postgreSQL(session))
        feed.change { contents in
          contents.statistics.readings += 1
          contents.statistics.lastDelay = reading.delay ?? .zero
        }
      }
      snapshot = reading.snapshot
      return reading.news.endsRights
    }

    /// Marks the notification of a server that has just started.
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

    /// Renews the row of this server, and reads the other servers. Returns whether the row was missing.
    private static func renew(_ snapshot: String?, _ feed: CommitFeed, _ session: PostgreSQLSession) throws -> Bool {
      let node = feed.ownNode
      let address = feed.pending.address
      let result = try session.connection.query(
        NodeRecords.renew,
        [
          .text(node.id), address.map { .text($0) } ?? .null, .text(node.version), .integer(node.startedAt),
          snapshot.map { .text($0) } ?? .null,
        ]
      )
      let isNew = try result.row(0).integer(at: 0) == 1
      // After a failover, the row may be missing.
      if isNew, snapshot == nil { feed.lease.end() }
      var others: [CommitFeed.OtherNode] = []
      try result.forEach { row in
        guard !row.isNull(at: 1) else { return }
        others.append(.init(id: try row.text(at: 1), address: row.isNull(at: 2) ? nil : try row.text(at: 2)))
      }
      feed.noteRenewal(of: address, others)
      return isNew
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
}
