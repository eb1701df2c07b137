import LockstepPostgreSQL
import LockstepSQLiteStore
import LockstepThreading
import LockstepTime

/// Follows the commits of the other nodes that use the same store in PostgreSQL.
///
/// Each transaction that changes something leaves a row in the table `commits`. A thread reads the rows of
/// the other nodes: those that its last snapshot did not see and its present one sees. So it gets each
/// row once, whatever the order of the commits. A notification wakes the thread to read the rows. If
/// notifications do not arrive, it reads every 20 ms.
///
/// The thread also renews this node's lease (`NodeLease`), and calls completion handlers when all nodes
/// know of a commit.
///
/// After each new connection, everything in memory is compared with the store.
package final class CommitFeed: Sendable {
  struct Node: Sendable {
    let id: String
    let version: String
    let startedAt: Int64
  }

  struct Contents: Sendable {
    /// The origin of the commits of this node's writer.
    var origin = PostgreSQLUUID(high: 0, low: 0)
    var address: String?
    /// Whether this node has committed something of which the others were not notified yet.
    var mustNotify = false
    var mustReconnect = false
    /// Whether the row in `nodes` is to be written at once, because it lacks the address.
    var mustRenew = false
    /// Whether requests wait for entries of the journal that are still hidden by an open transaction.
    var mustCheckJournal = false
    var isStopped = false
    /// Set when the thread has compared the memory with the store for the first time, or has failed.
    var start: Result<Void, any Error>?
    /// Why the commits of the other nodes cannot be read now.
    var failure: String?
    /// Whether commits wait for a synchronous standby that does not confirm them.
    var isStandbySilent = false
    /// Since when another node has the same address, and whether that was reported.
    private var sharedAddress: (since: ContinuousClock.Instant, isReported: Bool)?
    var lostNodes = LostNodes()
    var statistics = Statistics()
    /// The other nodes whose lease runs.
    var others: [OtherNode] = [] {
      didSet { statistics.otherNodes = others.count }
    }

    /// Returns whether to report now that another node has the address of this one.
    mutating func noteAddress(isShared: Bool, at now: ContinuousClock.Instant) -> Bool {
      guard isShared else {
        sharedAddress = nil
        return false
      }
      let known = sharedAddress ?? (now, false)
      let isNew = !known.isReported && now - known.since >= CommitFeed.sharedAddressPatience
      sharedAddress = (known.since, known.isReported || isNew)
      return isNew
    }
  }

  /// For how long another node must have this node's address until it is reported. The row of a node
  /// that has ended is gone by then.
  fileprivate static let sharedAddressPatience = Duration.seconds(5)

  struct OtherNode: Sendable, Equatable {
    let id: String
    let address: String?
    let holdsLease: Bool
  }

  package struct Statistics: Sendable {
    /// Whether notifications of other nodes arrive. If not, the connection goes through a pooler.
    package var notificationsArrive = true
    /// The other nodes whose lease runs.
    package var otherNodes = 0
    /// How often this node has read commits of other nodes, and the age of the oldest one at the last
    /// time.
    package var readings = 0
    package var lastDelay = Duration.zero
    /// How many connections this node has made to follow the others.
    package var connections = 0
    /// How many users had a state in memory that lacked commits of other nodes when a write began.
    package var outdatedStates = 0
    package var databaseBytes = 0

    package init() {}
  }

  package let lease = NodeLease()
  let standstill = StandstillWatch()
  private let connector: PostgreSQLConnector
  private let node: Node
  private let contents = LockedState(Contents())
  let completions = CommitCompletions()
  private let interrupt: PostgreSQLInterrupt
  private let thread = LockedState<NamedThread?>(nil)
  let healthListener = FailureMonitor.Listener(nil)
  private let noticeListener = LockedState<(@Sendable (FleetNotice) -> Void)?>(nil)

  init(_ connector: PostgreSQLConnector, node: Node) throws {
    (self.connector, self.node) = (connector, node)
    interrupt = try PostgreSQLInterrupt()
  }

  /// Sets the listener for failures to read the commits of other nodes.
  package func onHealthChange(_ listener: @escaping @Sendable (DatabaseWriter.HealthChange) -> Void) {
    healthListener.withLock { $0 = listener }
  }

  /// Sets the listener for events that the operator should know of.
  package func onNotice(_ listener: @escaping @Sendable (FleetNotice) -> Void) {
    noticeListener.withLock { $0 = listener }
  }

  func report(_ notice: FleetNotice) { noticeListener.withLock { $0 }?(notice) }

  /// The length of a standstill of this process that has ended recently; nil if there was none.
  package var recentStandstill: Duration? { standstill.recent() }

  /// Throws if commits wait for a synchronous standby that does not confirm them. A new commit would wait for the
  /// standby too, or for locks of the commits that wait.
  func expectConfirmedCommits() throws(StoreError) {
    if contents.withLock({ $0.isStandbySilent }) { throw .standbySilent }
  }

  /// The reason for an error of a writer, as far as this node knows more than the error.
  func reason(of error: any Error) -> any Error {
    contents.withLock { $0.isStandbySilent } ? StoreError.standbySilent : error
  }

  func noteStandby(isSilent: Bool) {
    let hasChanged = contents.withLock { contents in
      defer { contents.isStandbySilent = isSilent }
      return contents.isStandbySilent != isSilent
    }
    if hasChanged { report(isSilent ? .standbySilent : .standbyConfirms) }
  }

  /// The id of this node.
  package var nodeID: String { node.id }

  package var statistics: Statistics { contents.withLock { $0.statistics } }

  /// Counts users whose state in memory lacked commits of other nodes when a write began.
  func noteOutdated(_ count: Int) { contents.withLock { $0.statistics.outdatedStates += count } }

  /// Deletes rows that no node needs any more, on another thread.
  typealias Upkeep = @Sendable (@escaping @Sendable (Result<NodeUpkeep.Outcome, any Error>) -> Void) -> Void

  /// Starts to follow the other nodes. Returns when the memory was compared with the store. Calls `upkeep`
  /// now and every 30 s.
  func start(_ follower: any CommitFollower, upkeep: @escaping Upkeep) throws {
    try completions.start { [weak self] in
      guard let self, let length = standstill.note() else { return }
      report(.stoodStill(length))
    }
    let loop = CommitFeedLoop(self, connector, follower, upkeep)
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

  /// Sets the URL at which the other nodes reach this one. Waits a moment until they can know it.
  package func setAddress(_ address: String) {
    contents.withLock { ($0.address, $0.mustRenew) = (address, true) }
    interrupt.interrupt()
    _ = contents.wait(atMost: Self.addressPatience.wholeNanoseconds) { $0.mustRenew ? nil : () }
  }

  private static let addressPatience = Duration.seconds(1)

  /// The URL of another node whose lease runs, by the beginning of its id. Nil if there is no such
  /// node, or others cannot reach it.
  package func address(ofNodeWithPrefix prefix: String) -> String? {
    contents.withLock { $0.others.first { $0.id.hasPrefix(prefix) }?.address }
  }

  /// Whether this node has the lowest id of all nodes whose leases run. It does the work that only one node must do.
  package var isFirstNode: Bool { contents.withLock { $0.others.allSatisfy { $0.id > node.id } } }

  /// Replaces the list of the other nodes with one that was just read from the store.
  package func note(_ nodes: [NodeRecord]) {
    let others = nodes.filter { $0.id != node.id }.map { OtherNode(id: $0.id, address: $0.address, holdsLease: true) }
    contents.withLock { $0.others = others }
  }

  /// Call this when the writer has lost its connection. Its last commit may be in the database although this
  /// node has got no response.
  func writerLost() {
    contents.withLock { contents in
      guard contents.origin.high != 0 else { return }
      contents.mustReconnect = true
      // From now on, the commit is read like one of another node.
      contents.origin = PostgreSQLUUID(high: 0, low: 0)
    }
    interrupt.interrupt()
  }

  /// Call this when the writer has a new connection. If it is not the first one, the database may be another
  /// one.
  func writerConnected(_ origin: PostgreSQLUUID) {
    contents.withLock { contents in
      if contents.origin.high != 0 { contents.mustReconnect = true }
      contents.origin = origin
    }
    interrupt.interrupt()
  }

  /// Call this when a group of transactions is committed.
  func noteCommit() {
    let isFirst = contents.withLock { contents in
      guard contents.statistics.otherNodes > 0, !contents.mustNotify else { return false }
      contents.mustNotify = true
      return true
    }
    if isFirst { interrupt.interrupt() }
  }

  /// Call this when requests wait for entries of the journal that are still hidden by an open transaction. The
  /// feed soon lets them check again.
  package func checkJournalSoon() {
    contents.withLock { $0.mustCheckJournal = true }
    interrupt.interrupt()
  }

  /// Calls `completion` when no other node can respond without knowing of the commit, at the latest when the
  /// leases of those that do not know are over.
  func whenKnown(_ commit: CommitID, _ completion: @escaping @Sendable () -> Void) {
    let isRunning = thread.withLock { $0 != nil }
    // A command has no memory, and waits for the nodes in its own way.
    guard isRunning else { return completion() }
    completions.add(commit, completion)
    contents.withLock { $0.mustNotify = true }
    interrupt.interrupt()
  }

  var pending: Contents { contents.withLock { $0 } }
  var wakeSignal: PostgreSQLInterrupt { interrupt }
  var ownNode: Node { node }
  func change(_ body: (inout Contents) -> Void) { contents.withLock(body) }

  /// Call this when the table `nodes` has this address of this node. `all` are the other nodes in the table.
  /// `isOwnRunning`: this node had its lease until then.
  func noteRenewal(of address: String?, _ all: [OtherNode], isOwnRunning: Bool) {
    let live = all.filter(\.holdsLease)
    let isShared = address != nil && live.contains { $0.address == address }
    let (mustReport, notices) = contents.withLock { contents in
      contents.others = live
      let mustReport = contents.noteAddress(isShared: isShared, at: .now)
      // The address may have been set in between.
      if contents.address == address { contents.mustRenew = false }
      return (mustReport, contents.lostNodes.note(all, isOwnRunning: isOwnRunning, at: .now))
    }
    contents.wakeAll()
    if mustReport, let address { report(.sharedAddress(address)) }
    for notice in notices { report(notice) }
  }

  func setStart(_ result: Result<Void, any Error>) {
    contents.withLock { if $0.start == nil { $0.start = result } }
    contents.wakeAll()
  }
}
