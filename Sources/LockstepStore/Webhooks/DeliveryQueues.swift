import LockstepCollections
import LockstepPostgreSQL
import LockstepTime

/// The table `delivery_queues`, and the deliveries at the heads of the queues.
///
/// A user's deliveries to a webhook are a queue. Its row has the time of the next attempt. A claim
/// sets this time to when the claim expires, so no other server takes the delivery meanwhile. If the
/// server ends before it records the result of the attempt, the delivery is sent again after that.
package struct DeliveryQueues {
  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  /// When the next attempt of a webhook is due; nil without queued deliveries.
  package func nextTime(of webhook: WebhookID) throws -> Timestamp? {
    try connection.first("SELECT next_at FROM delivery_queues WHERE webhook = ? ORDER BY next_at LIMIT 1", webhook) {
      try $0[0] as Timestamp
    }
  }

  /// Claims up to `limit` deliveries that are due, each the first of its user.
  package func claim(
    _ webhook: WebhookID,
    limit: Int,
    at now: Timestamp,
    until end: Timestamp
  ) throws -> [ClaimedDelivery] {
    switch connection {
    case .sqlite: try claimInFile(webhook, limit: limit, at: now, until: end)
    case .postgreSQL(let session): try session.claim(webhook, limit: limit, at: now, until: end)
    }
  }

  /// Records the results of attempts, and makes the users' next deliveries due.
  package func record(_ results: [DeliveryResult], at now: Timestamp) throws {
    switch connection {
    case .sqlite: for result in results { try recordInFile(result, at: now) }
    case .postgreSQL(let session): try session.record(results, at: now)
    }
  }

  /// Makes queued deliveries of a webhook due, up to 10,000 users.
  func makeDue(_ webhook: WebhookID, at now: Timestamp) throws {
    try connection.run(
      StoreSQL(
        sqlite: """
          UPDATE delivery_queues SET next_at = ?2 WHERE webhook = ?1 AND user_id IN (
            SELECT user_id FROM delivery_queues WHERE webhook = ?1 AND next_at > ?2 AND claim IS NULL
            ORDER BY next_at LIMIT 10000
          )
          """,
        postgreSQL: """
          UPDATE delivery_queues SET next_at = ?2 WHERE webhook = ?1 AND user_id IN (
            SELECT user_id FROM delivery_queues WHERE webhook = ?1 AND next_at > ?2 AND claim IS NULL
            ORDER BY next_at LIMIT 10000 FOR UPDATE SKIP LOCKED
          )
          """
      ),
      webhook,
      now
    )
  }

  /// Deletes up to `limit` queues of a webhook. Returns how many it has deleted.
  func purge(_ webhook: WebhookID, limit: Int) throws -> Int {
    try connection.run(
      StoreSQL(
        sqlite: """
          DELETE FROM delivery_queues
          WHERE webhook = ?1 AND user_id IN (SELECT user_id FROM delivery_queues WHERE webhook = ?1 LIMIT ?2)
          """,
        postgreSQL: """
          DELETE FROM delivery_queues WHERE webhook = ?1 AND user_id IN (
            SELECT user_id FROM delivery_queues WHERE webhook = ?1 ORDER BY user_id LIMIT ?2 FOR UPDATE
          )
          """
      ),
      webhook,
      limit
    )
  }

  // MARK: SQLite

  private func claimInFile(
    _ webhook: WebhookID,
    limit: Int,
    at now: Timestamp,
    until end: Timestamp
  ) throws -> [ClaimedDelivery] {
    let due = try connection.all(
      "SELECT user_id FROM delivery_queues WHERE webhook = ? AND next_at <= ? ORDER BY next_at LIMIT ?",
      webhook,
      now,
      limit
    ) { try $0[0] as UserID }
    return try due.compactMap { user in
      let claim = ClaimedDelivery.newClaim()
      let head = try connection.first(
        """
        SELECT number, id, type, data, created_at, attempts FROM deliveries
        WHERE user_id = ? AND webhook = ? AND status = 0 ORDER BY number LIMIT 1
        """,
        user,
        webhook
      ) { row in
        try ClaimedDelivery(row, from: 0, webhook: webhook, user: user, claim: claim)
      }
      guard let head else {
        // Its only delivery was deleted with the user.
        try connection.run("DELETE FROM delivery_queues WHERE webhook = ? AND user_id = ?", webhook, user)
        return nil
      }
      try connection.run(
        "UPDATE delivery_queues SET next_at = ?, claim = ? WHERE webhook = ? AND user_id = ?",
        end,
        claim,
        webhook,
        user
      )
      return head
    }
  }

  private func recordInFile(_ result: DeliveryResult, at now: Timestamp) throws {
    let delivery = result.delivery
    let isHeld = try connection.first(
      "SELECT 1 FROM delivery_queues WHERE webhook = ? AND user_id = ? AND claim = ?",
      delivery.webhook,
      delivery.user,
      delivery.claim
    ) { _ in true }
    // The claim had expired, and the delivery was claimed again.
    if isHeld == nil { return }
    let changed = try connection.run(
      """
      UPDATE deliveries SET status = ?, attempts = attempts + ?, attempted_at = ?, last_status = ?, last_error = ?
      WHERE number = ? AND id = ?
      """,
      result.stored.rawValue,
      result.counts ? 1 : 0,
      result.at,
      result.status,
      result.error,
      delivery.number,
      delivery.id
    )
    var next = now
    if case .retry(let time) = result.nextStep, changed == 1 { next = time }
    try connection.run(
      "UPDATE delivery_queues SET next_at = ?, claim = NULL WHERE webhook = ? AND user_id = ?",
      next,
      delivery.webhook,
      delivery.user
    )
    try connection.run(
      """
      DELETE FROM delivery_queues WHERE webhook = ?1 AND user_id = ?2
        AND NOT EXISTS (SELECT 1 FROM deliveries WHERE user_id = ?2 AND webhook = ?1 AND status = 0)
      """,
      delivery.webhook,
      delivery.user
    )
  }
}

extension ClaimedDelivery {
  static func newClaim() -> Int64 { .random(in: 0 ... .max) }

  /// Reads number, id, type, data, time and attempts.
  init(
    _ row: borrowing StoreRow,
    from column: Int,
    webhook: WebhookID,
    user: UserID,
    claim: Int64
  ) throws {
    self.init(
      webhook: webhook,
      user: user,
      number: try row[column],
      id: try row[column + 1],
      type: try row[column + 2],
      data: try row[column + 3],
      createdAt: try row[column + 4],
      attempts: try row[column + 5],
      claim: claim
    )
  }
}
