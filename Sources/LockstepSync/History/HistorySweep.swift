import LockstepCollections
import LockstepStore
import LockstepTime

/// Finds users whose history has become too old, and queues its pruning, also for users who never write
/// again.
///
/// A round looks at all users in the order of their ids, at up to 1,000 users a second. That takes a few
/// look-ups in an index for each user. Between two rounds there is no work. A restarted server begins
/// with a new round, which is short if the last one has pruned what was due.
package struct HistorySweep: Sendable {
  private static let usersInShare = 1_000
  /// The pause between two shares, and between the start of the server and the first share. A share is up to
  /// `usersInShare` users.
  private static let interval = Duration.seconds(1)
  /// The pause after a failure, and while another node looks at the users.
  private static let longInterval = Duration.seconds(60)
  /// The shortest and the longest pause between two rounds.
  private static let pauses = Duration.seconds(600)...Duration.seconds(86_400)

  private let maintenance: HistoryMaintenance
  private let policy: HistoryPolicy
  private let readers: StoreReaders
  private let isResponsible: @Sendable () -> Bool
  private let now: @Sendable () -> Timestamp

  /// `isResponsible`: whether this node does the work for all nodes. If two nodes do it, each user is only
  /// looked at twice.
  package init(
    _ maintenance: HistoryMaintenance,
    policy: HistoryPolicy,
    readers: StoreReaders,
    isResponsible: @escaping @Sendable () -> Bool = { true },
    now: @escaping @Sendable () -> Timestamp
  ) {
    self.maintenance = maintenance
    self.policy = policy
    self.readers = readers
    self.isResponsible = isResponsible
    self.now = now
  }

  /// How long after the end of a round the next one begins: an eighth of the time for which history is kept.
  private var pause: Duration {
    let eighth = Duration.seconds(policy.days * 86_400 / 8)
    return min(max(eighth, Self.pauses.lowerBound), Self.pauses.upperBound)
  }

  /// Looks at users until the task is cancelled.
  package func run(by clock: any Clock<Duration>) async {
    var last: UserID?
    var wait = Self.interval
    while (try? await clock.sleep(for: wait)) != nil, !Task.isCancelled {
      guard isResponsible() else {
        (wait, last) = (Self.longInterval, nil)
        continue
      }
      wait = Self.interval
      // Before the next share, the sweep waits until the history of the users that it found is pruned, so that
      // they do not fill the memory. There may always be work for users who write, so it does not wait for them.
      if maintenance.isSweeping { continue }
      do {
        let share = try await share(after: last)
        maintenance.prune(share.aged)
        last = share.last
        if last == nil { wait = pause }
      } catch {
        wait = Self.longInterval
      }
    }
  }

  private func share(after last: UserID?) async throws -> HistoryShare {
    let moment = policy.oldest(at: now())
    let revisions = policy.leastRevisions
    return try await readers.read(length: .long) {
      try Journal(connection: $0)
        .share(after: last, limit: Self.usersInShare, agedBefore: moment, beyond: revisions)
    }
  }
}
