import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "The feed between servers",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(3))
)
struct PostgreSQLFeedTests {
  /// A memory that stops the thread of the feed while it is compared with the store, as a database does that
  /// does not respond.
  private final class HangingFollower: CommitFollower {
    let hangs = ThreadGate()
    let goesOn = ThreadGate()
    private let comparisons = Atomic(0)

    func verify(with connection: StoreConnection) {
      // The first comparison belongs to the start.
      guard comparisons.add(1, ordering: .relaxed).newValue > 1 else { return }
      hangs.open()
      goesOn.pass()
    }

    func apply(_ changes: CommitChanges, from connection: StoreConnection) {}
    func journalMayHaveGrown() {}
    func leaseWasRegained() {}
    func writerHasConnected(isOtherHistory: Bool) {}
    func unitsHaveConnected() {}
  }

  /// A memory that stops the thread of the feed between its first commits and the renewal of the lease. Then notes
  /// whether the lease is held when the end of a session arrives.
  private final class StallingFollower: CommitFollower {
    let hangs = ThreadGate()
    let goesOn = ThreadGate()
    private let lease = Mutex<NodeLease?>(nil)
    private let wasHeld = Mutex<Bool?>(nil)

    /// Whether the lease was held when the end of a session arrived.
    var heldAtEnd: Bool? { wasHeld.withLock { $0 } }

    func watch(_ lease: NodeLease) { self.lease.withLock { $0 = lease } }

    func apply(_ changes: CommitChanges, from connection: StoreConnection) {
      if changes.endedSessions.isEmpty {
        hangs.open()
        goesOn.pass()
      } else {
        let isHeld = lease.withLock { $0?.isHeld }
        wasHeld.withLock { $0 = isHeld }
      }
    }

    func verify(with connection: StoreConnection) {}
    func journalMayHaveGrown() {}
    func leaseWasRegained() {}
    func writerHasConnected(isOtherHistory: Bool) {}
    func unitsHaveConnected() {}
  }

  @Test("A server whose lease others have seen end reads their commits before it holds a lease again")
  func lateRenewal() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    let follower = StallingFollower()
    let lease = try #require(store.feed).lease
    follower.watch(lease)
    try await valueAside { try store.follow(follower) }
    let id = "01890000-0000-7000-8000-000000000001"
    try database.execute(
      "INSERT INTO commits (origin, users, numbers) VALUES (gen_random_uuid(), ARRAY['\(id)'::uuid], ARRAY[1])"
    )
    await follower.hangs.opened()
    // Another server sees that the lease is over, ends a session, and does not wait for this server.
    try database.execute(
      """
      UPDATE nodes SET lease_until = clock_timestamp() - interval '1 ms';
      INSERT INTO commits (origin, sessions, session_hashes)
        VALUES (gen_random_uuid(), ARRAY['\(id)'::uuid], ARRAY[decode(repeat('00', 32), 'hex')]);
      """
    )
    follower.goesOn.open()
    await eventually { follower.heldAtEnd != nil }
    #expect(follower.heldAtEnd == false)
    await eventually { lease.isHeld }
    await aside { store.close() }
  }

  @Test("A check of the store whose commit hangs does not hold up the lease")
  func hangingCheck() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    let follower = StallingFollower()
    let lease = try #require(store.feed).lease
    try await valueAside { try store.follow(follower) }
    // These commits hang with their locks, as commits do that wait for a synchronous standby.
    try database.execute(
      """
      CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
        BEGIN PERFORM pg_advisory_xact_lock(4714); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER hang_of_check AFTER INSERT ON commits DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hang();
      CREATE CONSTRAINT TRIGGER hang_of_check AFTER UPDATE OF checked_at ON nodes DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION hang();
      """
    )
    let holder = try database.holding(lock: 4714)
    let check = Task {
      // Without a lease, the check would fail at once.
      await eventually { lease.isHeld }
      try await store.checkWritable()
    }
    try await eventually {
      try database.count(
        """
        SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database
        WHERE d.datname = current_database() AND objid = 4714 AND NOT granted
        """
      ) == 1
    }
    var renewals = Set<Int>()
    try await eventually {
      renewals.insert(try database.count("SELECT (extract(epoch FROM lease_until) * 1000000)::bigint FROM nodes"))
      return renewals.count > 2
    }
    holder.close()
    // If this test was slow, PostgreSQL has ended the statement of the check.
    _ = await check.result
    await eventually { (try? await store.checkWritable()) != nil }
    await aside { store.close() }
  }

  @Test("A commit that ends a right is complete when the leases of the other servers are over, even if the feed hangs")
  func deadline() async throws {
    let database = try TestDatabase()
    defer { database.remove() }
    let store = try DurableStore(postgreSQL: database.connectionString)
    let follower = HangingFollower()
    let isComplete = ThreadGate()
    try await valueAside { try store.follow(follower) }
    try database.endConnections()
    await follower.hangs.opened()
    try #require(store.feed).whenKnown(CommitID(transaction: 1)) { isComplete.open() }
    await isComplete.opened()
    follower.goesOn.open()
    await aside { store.close() }
  }

  @Test("A server that cannot read the commits of others logs the reason, and loses its lease until it can again")
  func failure() async throws {
    try await TestDatabase.serve { server, database in
      let store = try server.databaseStore()
      try server.logFailuresDespitePauses()
      try database.execute("ALTER TABLE nodes RENAME TO lost")
      var cause: String?
      await eventually {
        do throws(StoreError) {
          try await store.checkWritable()
        } catch .leaseIsOver(let reason) {
          cause = reason
        } catch {
          return false
        }
        return cause != nil
      }
      #expect(cause?.contains("nodes") == true, "\(cause ?? "")")
      // The feed notes the reason first, and logs it a moment later.
      await eventually {
        server.log.lines.contains {
          $0.contains("ERROR the commits of other nodes cannot be read") && $0.contains("nodes")
        }
      }
      try database.execute("ALTER TABLE lost RENAME TO nodes")
      await eventually { server.log.text.contains("the commits of other nodes can be read again") }
      await eventually { store.feed?.lease.isHeld == true }
    }
  }

  @Test("A failure of the queue of webhooks and mails has a line in the log, and so has its end")
  func queue() async throws {
    try await TestDatabase.serve { server, database in
      func wait(for line: String) async {
        await eventually {
          // The worker looks at the queue each second.
          server.clock.advance(by: .seconds(1))
          return server.log.text.contains(line)
        }
      }
      try database.execute("ALTER TABLE webhooks RENAME TO lost")
      await wait(for: "ERROR the queue of webhooks and mails cannot be read or written")
      try database.execute("ALTER TABLE lost RENAME TO webhooks")
      await wait(for: "INFO the queue of webhooks and mails can be read and written again")
    }
  }

  @Test("Another server with the same address is reported once, when it has had it for five seconds")
  func sharedAddress() {
    var contents = CommitFeed.Contents()
    let start = ContinuousClock.now
    func note(_ isShared: Bool, after seconds: Int) -> Bool {
      contents.noteAddress(isShared: isShared, at: start + .seconds(seconds))
    }
    #expect([0, 1, 4].map { note(true, after: $0) } == [false, false, false])
    // The row of a server that has ended disappears.
    #expect(!note(false, after: 5))
    #expect([6, 10, 11, 12, 60].map { note(true, after: $0) } == [false, false, true, false, false])
  }
}
