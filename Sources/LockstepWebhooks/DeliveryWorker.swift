import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepLogging
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// Sends the deliveries of the store.
///
/// A pass records the results of attempts that have ended, and claims due deliveries, in one
/// transaction. The claimed ones are sent concurrently, a few to each destination, so a destination
/// that hangs delays no other. Several servers of a store share the work.
package final class DeliveryWorker: Sendable {
  /// How long a claim is valid, in milliseconds: the longest attempt (30 s, for a mail), and 10 s
  /// for the difference between the clocks of two servers.
  package static let claimDuration: Int64 = 40_000
  /// The server disables a webhook after its deliveries have all failed for this many milliseconds.
  package static let longestFailure = WebhookSchedule.lifetime.wholeMilliseconds
  /// How often the store is searched, because other servers and commands add deliveries too.
  static let pollInterval = Duration.seconds(1)
  /// How often the queues are measured, in milliseconds.
  private static let upkeepInterval: Int64 = 30_000
  /// The most queued deliveries of a webhook that are counted.
  package static let mostCounted = 10_000_000
  /// How long the attempts that run may take when the server stops.
  package static let timeAtStop = Duration.seconds(2)

  /// A destination other than the webhooks, such as mail.
  package struct OtherDestination: Sendable {
    let id: WebhookID
    let sender: any DeliverySender
    /// The most attempts at a time.
    let atOnce: Int

    package init(_ id: WebhookID, _ sender: any DeliverySender, atOnce: Int) {
      (self.id, self.sender, self.atOnce) = (id, sender, atOnce)
    }
  }

  struct Ended: Sendable {
    let outgoing: OutgoingDelivery
    let outcome: AttemptOutcome
    let at: Timestamp

    /// The end of the pause that the receiver has asked for; nil if it has not.
    var pauseEnd: Timestamp? {
      guard case .throttled(let time?) = outcome.kind else { return nil }
      return Timestamp(millisecondsSince1970: at.millisecondsSince1970 + time.wholeMilliseconds)
    }
  }

  struct Contents: Sendable {
    var paces: [WebhookID: DeliveryPace] = [:]
    var ended: [Ended] = []
    /// How many results of each webhook were recorded since its old deliveries were deleted.
    var recorded: [WebhookID: Int] = [:]
    var isStopping = false
    var isRunning = false
    var mustLook = false
    var waiter: CheckedContinuation<Void, Never>?
    var metrics = DeliveryMetrics()
    var logger = Logger.silent

    var running: Int { paces.values.reduce(0) { $0 + $1.running } }
  }

  let readers: StoreReaders
  let writer: StoreWriter
  let webhooks: any DeliverySender
  let others: [OtherDestination]
  let secretMembers: @Sendable (ClaimedDelivery) -> JSONObject
  private let timeAtStop: Duration
  let now: @Sendable () -> Timestamp
  let random: @Sendable () -> Double
  let contents = LockedState(Contents())

  /// `secretMembers` returns the members of `data` that are not in the store, such as a token. They
  /// must be the same for each attempt. `timeAtStop` is how long `stop` waits for attempts. `random`
  /// returns numbers from 0 to 1.
  package init(
    readers: StoreReaders,
    writer: StoreWriter,
    webhooks: any DeliverySender,
    others: [OtherDestination] = [],
    secretMembers: @escaping @Sendable (ClaimedDelivery) -> JSONObject = { _ in [:] },
    timeAtStop: Duration = DeliveryWorker.timeAtStop,
    now: @escaping @Sendable () -> Timestamp,
    random: @escaping @Sendable () -> Double = { .random(in: 0...1) }
  ) {
    (self.readers, self.writer, self.webhooks, self.others) = (readers, writer, webhooks, others)
    (self.secretMembers, self.timeAtStop, self.now, self.random) = (secretMembers, timeAtStop, now, random)
  }

  /// Lets the worker look for deliveries now. Call this after the commit of an event.
  package func wake() {
    let waiter = contents.withLock { contents in
      contents.mustLook = true
      return contents.waiter.take()
    }
    waiter?.resume()
  }

  package var metrics: DeliveryMetrics { contents.withLock { $0.metrics } }

  // MARK: Running

  /// Sends deliveries until the task is cancelled or the worker is stopped. Then it records the
  /// results of the attempts that have ended.
  package func run(by clock: any Clock<Duration>, logger: Logger) async {
    contents.withLock { ($0.isRunning, $0.logger) = (true, logger) }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.poll(by: clock) }
      while !Task.isCancelled, !isStopped {
        do {
          let claimed = try await pass()
          noteSuccess()
          for delivery in claimed { group.addTask { await self.send(delivery) } }
          if claimed.isEmpty { await waitForWork() }
        } catch {
          noteFailure(error)
          await waitForWork(isRetry: true)
        }
      }
      group.cancelAll()
    }
    _ = try? await pass(claiming: false)
    contents.withLock { $0.isRunning = false }
    contents.wakeAll()
  }

  /// Begins no more attempts.
  package func drain() {
    contents.withLock { $0.isStopping = true }
    wake()
  }

  /// Begins no more attempts, waits a moment for those that run, and records their results. Blocks.
  package func stop() {
    drain()
    _ = contents.wait(atMost: timeAtStop.wholeNanoseconds) { $0.isRunning ? nil : () }
  }

  /// Measures the queues, and deletes the deliveries of deleted webhooks and the links that have
  /// expired, some at a time.
  func upkeep() async throws {
    let (others, now) = (others.map(\.id), now())
    let (queued, oldest, hasDeleted, hasLinks) = try await readers.read(length: .long) { connection in
      let (records, webhooks) = (DeliveryRecords(connection: connection), WebhookRecords(connection: connection))
      let all = try (webhooks.all().map(\.id) + others).map { try records.backlog(of: $0, limit: Self.mostCounted) }
      let hasLinks = try MailLinkRecords(connection: connection).haveExpired(at: now)
      return (all.reduce(0) { $0 + $1.count }, all.compactMap(\.oldest).min(), try webhooks.haveDeleted, hasLinks)
    }
    contents.withLock { ($0.metrics.queued, $0.metrics.oldest) = (queued, oldest) }
    while hasDeleted, try await writer.write({ try WebhookRecords(connection: $0).purge(limit: 1_000) }) {}
    while hasLinks {
      let count = try await writer.write { try MailLinkRecords(connection: $0).removeExpired(at: now, limit: 1_000) }
      if count < 1_000 { break }
    }
  }

  /// Whether the worker was stopped and no attempt runs.
  private var isStopped: Bool { contents.withLock { $0.isStopping && $0.running == 0 } }

  private func poll(by clock: any Clock<Duration>) async {
    var lastUpkeep: Timestamp?
    while (try? await clock.sleep(for: timeToNext)) != nil {
      wake()
      let now = now()
      if let lastUpkeep, now.millisecondsSince1970 - lastUpkeep.millisecondsSince1970 < Self.upkeepInterval { continue }
      lastUpkeep = now
      try? await upkeep()
    }
    // Lets `run` see that the task was cancelled.
    wake()
  }

  /// The time until the next poll: until a pause ends or a retry is due, at most `pollInterval`.
  private var timeToNext: Duration {
    let now = now()
    let next = contents.withLock { $0.metrics.nextTime }
    guard let next, next > now else { return Self.pollInterval }
    return min(Self.pollInterval, .milliseconds(max(10, next.millisecondsSince1970 - now.millisecondsSince1970)))
  }

  /// Returns when a pass may have something to do. After a failed pass, waits for a new call of
  /// `wake`.
  private func waitForWork(isRetry: Bool = false) async {
    await withCheckedContinuation { continuation in
      let isDue = contents.withLock { contents in
        if !isRetry, contents.mustLook || !contents.ended.isEmpty { return true }
        contents.waiter = continuation
        return false
      }
      if isDue { continuation.resume() }
    }
    contents.withLock { $0.mustLook = false }
  }

  private func noteSuccess() {
    let hasFailed = contents.withLock { contents in
      defer { contents.metrics.isFailing = false }
      return contents.metrics.isFailing
    }
    if hasFailed {
      contents.withLock { $0.logger }.log(.info, "the queue of webhooks and mails can be read and written again")
    }
  }

  private func noteFailure(_ error: any Error) {
    let isFirst = contents.withLock { contents in
      defer { contents.metrics.isFailing = true }
      return !contents.metrics.isFailing
    }
    if isFirst {
      contents.withLock { $0.logger }.log(
        .error,
        "the queue of webhooks and mails cannot be read or written",
        ["error": .string("\(error)")]
      )
    }
  }
}

extension DeliveryWorker: CommitObserver {
  package func stateCommitted(_ state: UserState, of user: UserID) {
    if writer.stateEventFlag.hasStateEvents { wake() }
  }

  package func accountsCommitted() { wake() }
}
