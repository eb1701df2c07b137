import LockstepCollections
import LockstepJSON
import LockstepLogging
import LockstepStore
import LockstepTime

// The passes and the attempts of the worker.

extension DeliveryWorker {
  /// The result of the reads of a pass.
  private struct Work: Sendable {
    let version: Int
    var webhooks: [WebhookRecord] = []
    /// When the pauses of webhooks end.
    var pauseEnds: [Timestamp] = []
    /// When the next delivery to each destination that is enabled and not paused is due; nil if
    /// none is queued.
    var destinations: [(id: WebhookID, next: Timestamp?)] = []
  }

  /// Records the results of ended attempts, and claims due deliveries. Returns the claimed ones.
  func pass(claiming: Bool = true) async throws -> [OutgoingDelivery] {
    let now = now()
    let work = try await read(at: now)
    let (ended, pruned, due) = contents.withLock { contents in
      defer { contents.ended = [] }
      let due = claiming && !contents.isStopping ? self.due(work, contents, at: now) : []
      return (contents.ended, Self.takePrunable(&contents, ended: contents.ended), due)
    }
    guard !ended.isEmpty || !due.isEmpty else { return [] }
    let results = ended.map { result(of: $0) }
    let byID = Dictionary(work.webhooks.map { ($0.id, $0) }) { first, _ in first }
    let (disabled, claimed): ([String], [ClaimedDelivery])
    do {
      (disabled, claimed) = try await writer.write { connection in
        let queues = DeliveryQueues(connection: connection)
        try queues.record(results, at: now)
        for id in pruned { try DeliveryRecords(connection: connection).prune(id, limit: 1_000) }
        let disabled = try Self.noteOutcomes(ended, byID, at: now, in: connection)
        let end = now.advanced(byMilliseconds: Self.claimDuration)
        var claimed: [ClaimedDelivery] = []
        for (id, limit) in due where !disabled.contains(where: { byID[id]?.name == $0 }) {
          claimed += try queues.claim(id, limit: limit, at: now, until: end)
        }
        return (disabled, claimed)
      }
    } catch {
      // The next pass records the results. If a claim expires first, its delivery is sent again.
      contents.withLock { $0.ended += ended }
      throw error
    }
    let logger = contents.withLock { $0.logger }
    for name in disabled {
      logger.log(
        .warning,
        "a webhook was disabled, because its deliveries failed or its receiver responded with 410: repair the receiver, "
          + "then PUT the webhook again",
        ["webhook": .string(name)]
      )
    }
    for result in results where result.delivery.webhook == .mail && result.nextStep == .failed {
      let (type, user) = (result.delivery.type, "\(result.delivery.user)")
      logger.log(.warning, "a mail was given up", ["mail": .string(type), "user": .string(user)])
    }
    contents.withLock { contents in
      contents.metrics.count(results)
      for delivery in claimed { contents.paces[delivery.webhook, default: newPace(of: delivery.webhook)].begin(1) }
    }
    return claimed.map { outgoing($0, byID[$0.webhook], at: now) }
  }

  private func read(at now: Timestamp) async throws -> Work {
    let version = writer.stateEventFlag.version
    let others = others.map(\.id)
    let work = try await readers.read { connection in
      var work = Work(version: version)
      work.webhooks = try WebhookRecords(connection: connection).all()
      let queues = DeliveryQueues(connection: connection)
      let enabled = work.webhooks.filter { $0.disabledAt == nil }
      work.pauseEnds = enabled.compactMap(\.pausedUntil).filter { $0 > now }
      for id in enabled.filter({ ($0.pausedUntil ?? now) <= now }).map(\.id) + others {
        work.destinations.append((id, try queues.nextTime(of: id)))
      }
      return work
    }
    let hasStateEvents = work.webhooks.contains { $0.disabledAt == nil && $0.events.contains(.stateChanged) }
    writer.stateEventFlag.set(hasStateEvents, since: version)
    contents.withLock { contents in
      let times = work.destinations.compactMap { id, next in next.map { contents.paces[id]?.pauseEnd(at: now) ?? $0 } }
      contents.metrics.nextTime = (times + work.pauseEnds).filter { $0 > now }.min()
      contents.metrics.disabled = work.webhooks.count { $0.disabledAt != nil }
      let known = Set(work.webhooks.map(\.id) + others)
      contents.paces = contents.paces.filter { known.contains($0.key) || $0.value.running > 0 }
    }
    return work
  }

  /// The destinations with due deliveries, and how many of them may be claimed. After an attempt,
  /// its user's next delivery is due.
  private func due(_ work: Work, _ contents: Contents, at now: Timestamp) -> [(id: WebhookID, limit: Int)] {
    let ended = Set(contents.ended.map(\.outgoing.delivery.webhook))
    let paused = Set(contents.ended.filter { $0.pauseEnd != nil }.map(\.outgoing.delivery.webhook))
    return work.destinations.compactMap { id, next in
      guard !paused.contains(id), ended.contains(id) || next.map({ $0 <= now }) ?? false else { return nil }
      let free = (contents.paces[id] ?? newPace(of: id)).free(at: now)
      return free > 0 ? (id, free) : nil
    }
  }

  private func newPace(of id: WebhookID) -> DeliveryPace {
    others.first { $0.id == id }.map { DeliveryPace(most: $0.atOnce) } ?? DeliveryPace()
  }

  /// The webhooks whose old deliveries are to be deleted.
  private static func takePrunable(_ contents: inout Contents, ended: [Ended]) -> [WebhookID] {
    for one in ended { contents.recorded[one.outgoing.delivery.webhook, default: 0] += 1 }
    let full = contents.recorded.filter { $0.value >= 200 }.map(\.key)
    for id in full { contents.recorded[id] = nil }
    return full
  }

  /// Notes successes and failures of webhooks. Returns the names of those that this has disabled.
  private static func noteOutcomes(
    _ ended: [Ended],
    _ webhooks: [WebhookID: WebhookRecord],
    at now: Timestamp,
    in connection: StoreConnection
  ) throws -> [String] {
    let records = WebhookRecords(connection: connection)
    var disabled: [String] = []
    let byID = Dictionary(grouping: ended.filter { !$0.outcome.isAborted }) { $0.outgoing.delivery.webhook }
    for (id, ended) in byID.sorted(by: { $0.key.number < $1.key.number }) {
      guard let webhook = webhooks[id] else { continue }
      if let end = ended.compactMap(\.pauseEnd).max() { try records.pause(id, until: end) }
      if ended.contains(where: { $0.outcome.kind == .gone }) {
        if try records.disable(id, at: now) { disabled.append(webhook.name) }
      } else if ended.contains(where: { $0.outcome.kind == .delivered }) {
        if webhook.failingSince != nil { try records.noteSuccess(of: id) }
      } else if try records.noteFailure(of: id, at: now, disablingAfter: longestFailure) {
        disabled.append(webhook.name)
      }
    }
    return disabled
  }

  // MARK: An attempt

  /// Makes an attempt. The next pass records its result.
  func send(_ outgoing: OutgoingDelivery) async {
    let id = outgoing.delivery.webhook
    let sender = outgoing.webhook == nil ? others.first { $0.id == id }?.sender ?? webhooks : webhooks
    let outcome = await sender.send(outgoing)
    let now = now()
    contents.withLock { contents in
      contents.paces[id]?.end(outcome, at: now)
      contents.ended.append(Ended(outgoing: outgoing, outcome: outcome, at: now))
    }
    wake()
  }

  private func outgoing(_ delivery: ClaimedDelivery, _ webhook: WebhookRecord?, at now: Timestamp) -> OutgoingDelivery {
    var data = JSON(trusting: Array(delivery.data.utf8)).objectValue ?? JSONObject()
    for (name, value) in secretMembers(delivery) { data[name] = value }
    return OutgoingDelivery(delivery: delivery, data: data, webhook: webhook, at: now)
  }

  private func result(of ended: Ended) -> DeliveryResult {
    let (delivery, outcome) = (ended.outgoing.delivery, ended.outcome)
    return DeliveryResult(
      delivery,
      nextStep(of: ended),
      status: outcome.status,
      error: outcome.error,
      at: ended.at,
      counts: !outcome.isAborted
    )
  }

  private func nextStep(of ended: Ended) -> DeliveryResult.NextStep {
    if ended.outcome.isAborted { return .retry(at: ended.at) }
    let delivery = ended.outgoing.delivery
    var retryAfter: Duration?
    switch ended.outcome.kind {
    case .delivered: return .delivered
    case .rejected: return .failed
    case .throttled(let time), .failed(let time): retryAfter = time
    case .gone: break
    }
    let lifetime = WebhookEventType(rawValue: delivery.type)?.lifetime ?? WebhookSchedule.lifetime
    let end = delivery.createdAt.millisecondsSince1970 + lifetime.wholeMilliseconds
    let delay = WebhookSchedule.delay(after: delivery.attempts + 1, random: random(), retryAfter: retryAfter)
    let next = ended.at.millisecondsSince1970 + delay.wholeMilliseconds
    return next < end ? .retry(at: Timestamp(millisecondsSince1970: next)) : .failed
  }
}
