import LockstepSQLiteStore

/// The work of the feed's thread: follows the other nodes, and connects again when a connection ends.
struct CommitFeedLoop: Sendable {
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
    var monitor = FailureMonitor(work: .follow, listener: feed.healthListener, monotonic: { NodeLease.now })
    while !feed.pending.isStopped {
      do {
        // This comes first, because `CommitFeedConnection` then compares all memory with the store.
        feed.change { $0.mustReconnect = false }
        var connection = try CommitFeedConnection(feed, connector, follower, upkeep, isFirst: isFirst)
        feed.setStart(.success(()))
        feed.change { $0.failure = nil }
        monitor.noteSuccess()
        (attempt, isFirst) = (0, false)
        while try connection.step() {}
      } catch {
        feed.setStart(.failure(error))
        feed.change { contents in
          contents.failure = "\(error)"
          // The feed no longer knows the state of the standby. The writers find out when they connect.
          contents.isStandbySilent = false
        }
        monitor.noteFailure(error)
        attempt += 1
        PostgreSQLConnector.pause(for: .milliseconds(min(1_000, 50 << min(attempt, 5))))
      }
    }
  }
}
