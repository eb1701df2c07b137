import LockstepCollections
import LockstepStore
import LockstepTime

/// Finds users whose history has become too old, and has it pruned, also for users who never write
/// again.
///
/// A round looks at all users in the order of their ids, in shares of 1,000 users a second. That takes a
/// few look-ups in an index for each user. Between two rounds there is no work. A restarted server begins
/// with a new round, which is short if the last one has pruned what was due.
package struct HistorySweep: Sendable {
  private static let usersInShare = 1_000
  /// Between two shares, and between the start of the server and the first share.
  private static let interval = Duration.seconds(1)
  /// After a failure, and while another node looks at the users.
  private static let longInterval = Duration.seconds(60)
  /// How often a round begins, at most and at least.
  private static let pauses = Duration.seconds(600)...Duration.seconds(86_400)

  private let maintenance: HistoryMaintenance
  private let policy: HistoryPolicy
  private let readers: StoreReaders
  private let isResponsible: @Sendable () -> Bool
  private let now: @Sendable () -> Timestamp

  /// `isResponsible`: whether this node does the work for all nodes. If two nodes do, they only look twice.
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
      // The aged users of a share are pruned before the next share, so that they do not fill the memory.
      // Users who write may be pruned all the time, so the sweep does not wait for them.
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
