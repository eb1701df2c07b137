import LockstepTestSupport
import Synchronization
import Testing

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
      let line = server.log.lines.first { $0.contains("ERROR the commits of other nodes cannot be read") }
      #expect(line?.contains("nodes") == true, "\(server.log.text)")
      try database.execute("ALTER TABLE lost RENAME TO nodes")
      await eventually { server.log.text.contains("the commits of other nodes can be read again") }
      await eventually { store.feed?.lease.isHeld == true }
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
