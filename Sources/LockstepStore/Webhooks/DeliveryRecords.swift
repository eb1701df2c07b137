import LockstepCollections
import LockstepTime

/// The table `deliveries`, for administrators.
package struct DeliveryRecords {
  /// How many delivered and how many failed deliveries of a webhook are kept.
  package static let kept = 1_000

  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  /// The deliveries of a webhook before a number, newest first. `status`: only those.
  package func page(
    of webhook: WebhookID,
    _ status: DeliveryStatus?,
    before number: Int,
    limit: Int
  ) throws -> [DeliveryListing] {
    // One look-up in the index for each status.
    let parts = try (status.map { [$0] } ?? DeliveryStatus.allCases).map { status in
      try connection.all(
        """
        SELECT number, id, user_id, type, created_at, status, attempts, attempted_at, last_status, last_error
        FROM deliveries WHERE webhook = ? AND status = ? AND number < ? ORDER BY number DESC LIMIT ?
        """,
        webhook,
        status.rawValue,
        number,
        limit
      ) { try listing($0, of: webhook) }
    }
    let page = parts.flatMap { $0 }.sorted { $0.number > $1.number }.prefix(limit)
    return try page.map { try $0.with(nextAt: nextTime(of: $0, webhook)) }
  }

  package func delivery(_ id: WebhookEventID, of webhook: WebhookID) throws -> DeliveryListing? {
    let found = try connection.first(
      """
      SELECT number, id, user_id, type, created_at, status, attempts, attempted_at, last_status, last_error
      FROM deliveries WHERE webhook = ? AND id = ?
      """,
      webhook,
      id
    ) { try listing($0, of: webhook) }
    return try found.map { try $0.with(nextAt: nextTime(of: $0, webhook)) }
  }

  /// Queues a delivery again, behind the user's others, or makes a queued one due. Returns whether
  /// there is such a delivery.
  package func resend(_ id: WebhookEventID, of webhook: WebhookID, at now: Timestamp) throws -> Bool {
    guard let found = try delivery(id, of: webhook) else { return false }
    try connection.lock(found.user)
    guard let known = try delivery(id, of: webhook) else { return false }
    if known.status != .queued {
      try connection.run(
        StoreSQL(
          sqlite: """
            UPDATE deliveries SET number = (SELECT max(number) + 1 FROM deliveries), status = 0, attempts = 0
            WHERE number = ?
            """,
          postgreSQL: "UPDATE deliveries SET number = DEFAULT, status = 0, attempts = 0 WHERE number = ?"
        ),
        known.number
      )
    }
    try connection.run(
      """
      INSERT INTO delivery_queues (webhook, user_id, next_at) VALUES (?, ?, ?)
      ON CONFLICT (webhook, user_id) DO UPDATE
        SET next_at = CASE WHEN delivery_queues.claim IS NULL THEN excluded.next_at ELSE delivery_queues.next_at END
      """,
      webhook,
      known.user,
      now
    )
    return true
  }

  /// Deletes delivered and failed deliveries that are not kept, up to `limit` of each.
  package func prune(_ webhook: WebhookID, limit: Int) throws {
    for status in [DeliveryStatus.delivered, .failed] {
      try connection.run(
        """
        DELETE FROM deliveries WHERE number IN (
          SELECT number FROM deliveries WHERE webhook = ? AND status = ? ORDER BY number DESC LIMIT ? OFFSET ?
        )
        """,
        webhook,
        status.rawValue,
        limit,
        Self.kept
      )
    }
  }

  /// How many deliveries are queued, counted up to `limit`, and the time of the oldest event.
  package func backlog(of webhook: WebhookID, limit: Int) throws -> (count: Int, oldest: Timestamp?) {
    let count = try connection.first(
      "SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE webhook = ? AND status = 0 LIMIT ?) AS queued",
      webhook,
      limit
    ) { try $0[0] as Int }
    let oldest = try connection.first(
      "SELECT created_at FROM deliveries WHERE webhook = ? AND status = 0 ORDER BY number LIMIT 1",
      webhook
    ) { try $0[0] as Timestamp }
    return (count ?? 0, oldest)
  }

  /// In PostgreSQL, gives later deliveries numbers after those that were copied.
  func continueNumbers() throws {
    guard case .postgreSQL = connection else { return }
    try connection.forEach(
      """
      SELECT setval(pg_get_serial_sequence('deliveries', 'number'), (SELECT coalesce(max(number), 0) + 1 FROM deliveries))
      """
    ) { _ in }
  }

  /// The time of the next attempt, if the delivery is its user's next one.
  private func nextTime(of delivery: DeliveryListing, _ webhook: WebhookID) throws -> Timestamp? {
    guard delivery.status == .queued else { return nil }
    return try connection.first(
      """
      SELECT next_at FROM delivery_queues WHERE webhook = ?1 AND user_id = ?2 AND ?3 = (
        SELECT min(number) FROM deliveries WHERE user_id = ?2 AND webhook = ?1 AND status = 0
      )
      """,
      webhook,
      delivery.user,
      delivery.number
    ) { try $0[0] as Timestamp }
  }

  private func listing(_ row: borrowing StoreRow, of webhook: WebhookID) throws -> DeliveryListing {
    DeliveryListing(
      number: try row[0],
      id: try row[1],
      user: try row[2],
      type: try row[3],
      createdAt: try row[4],
      status: DeliveryStatus(rawValue: try row[5]) ?? .failed,
      attempts: try row[6],
      attemptedAt: try row[7],
      lastStatus: try row[8],
      lastError: try row[9],
      nextAt: nil
    )
  }
}

extension DeliveryListing {
  fileprivate func with(nextAt: Timestamp?) -> DeliveryListing {
    DeliveryListing(
      number: number,
      id: id,
      user: user,
      type: type,
      createdAt: createdAt,
      status: status,
      attempts: attempts,
      attemptedAt: attemptedAt,
      lastStatus: lastStatus,
      lastError: lastError,
      nextAt: nextAt
    )
  }
}
