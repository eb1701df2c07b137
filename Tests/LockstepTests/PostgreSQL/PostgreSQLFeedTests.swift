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

    func apply(_ news: CommitNews, from connection: StoreConnection) {}
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
}
