import LockstepCollections
import LockstepPostgreSQL
import LockstepTime

/// Adds events to the deliveries of the webhooks that are subscribed to them, in the transaction of
/// the change. The caller has locked the user (`StoreConnection.lock`), so the order of a user's
/// deliveries is that of the commits.
package struct WebhookOutbox {
  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  package func add(_ event: WebhookEvent) throws {
    switch connection {
    case .sqlite: try addToFile(event)
    case .postgreSQL(let session):
      var pipeline = PostgreSQLPipeline()
      // A webhook that is added at the same time gets the events of all transactions that end
      // later.
      pipeline.add(NamedLock.share, [.integer(NamedLock.declared)])
      OutboxStatements.add([event], to: &pipeline)
      _ = try session.send(pipeline)
    }
  }

  /// Adds the ends of a user's sessions.
  package func addEnds(of sessions: [EndedSession], of user: UserID, at now: Timestamp) throws {
    for session in sessions {
      try add(WebhookEvent(.sessionEnded, of: user, ["session": .string(session.id.description)], at: now))
    }
  }

  /// Adds a delivery to a destination that is no webhook.
  package func add(_ event: WebhookEvent, to destination: WebhookID) throws {
    try connection.run(
      """
      INSERT INTO deliveries (webhook, id, user_id, type, data, created_at, status, attempts)
      VALUES (?, ?, ?, ?, ?, ?, 0, 0)
      """,
      destination,
      event.id,
      event.user,
      event.type.rawValue,
      event.data,
      event.at
    )
    try connection.run(
      """
      INSERT INTO delivery_queues (webhook, user_id, next_at) VALUES (?, ?, ?)
      ON CONFLICT (webhook, user_id) DO UPDATE SET next_at = delivery_queues.next_at WHERE FALSE
      """,
      destination,
      event.user,
      event.at
    )
  }

  /// Replaces all deliveries about a user by the event that the user was erased.
  package func addErasure(of user: UserID, at now: Timestamp) throws {
    try connection.run("DELETE FROM deliveries WHERE user_id = ?", user)
    // A queue with a running attempt stays, so that the next delivery comes after it.
    try connection.run(
      """
      DELETE FROM delivery_queues
      WHERE user_id = ? AND claim IS NULL AND webhook IN (SELECT id FROM webhooks UNION ALL SELECT -1)
      """,
      user
    )
    try add(WebhookEvent(.userErased, of: user, at: now))
  }

  private func addToFile(_ event: WebhookEvent) throws {
    let pattern = "% \(event.type.rawValue) %"
    let added = try connection.run(
      """
      INSERT INTO deliveries (webhook, id, user_id, type, data, created_at, status, attempts)
      SELECT id, ?, ?, ?, ?, ?, 0, 0 FROM webhooks
      WHERE name IS NOT NULL AND disabled_at IS NULL AND ' ' || events || ' ' LIKE ?
      """,
      event.id,
      event.user,
      event.type.rawValue,
      event.data,
      event.at,
      pattern
    )
    if added == 0 { return }
    try connection.run(
      """
      INSERT INTO delivery_queues (webhook, user_id, next_at)
      SELECT id, ?, ? FROM webhooks
      WHERE name IS NOT NULL AND disabled_at IS NULL AND ' ' || events || ' ' LIKE ?
      ON CONFLICT DO NOTHING
      """,
      event.user,
      event.at,
      pattern
    )
  }
}

/// The statements of the outbox in PostgreSQL, for any number of events.
enum OutboxStatements {
  /// Adds the deliveries first. Then it creates or locks their queues: a server that records the
  /// result of the last delivery of a queue either sees these, or has deleted the queue before.
  static func add(_ events: [WebhookEvent], to pipeline: inout PostgreSQLPipeline) {
    if events.isEmpty { return }
    let users = PostgreSQLValue.uuids(events.map(\.user.value))
    let types = PostgreSQLValue.texts(events.map(\.type.rawValue))
    let times = PostgreSQLValue.integers(events.map(\.at.millisecondsSince1970))
    pipeline.add(
      insertDeliveries,
      [.uuids(events.map(\.id.value)), users, types, .texts(events.map(\.data)), times]
    )
    pipeline.add(insertQueues, [users, types, times])
  }

  private static let insertDeliveries = PostgreSQLStatement(
    """
    INSERT INTO deliveries (webhook, id, user_id, type, data, created_at, status, attempts)
    SELECT w.id, v.i, v.u, v.t, v.d, v.a, 0, 0
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[]) WITH ORDINALITY AS v (i, u, t, d, a, o)
    JOIN webhooks AS w
      ON w.name IS NOT NULL AND w.disabled_at IS NULL AND strpos(' ' || w.events || ' ', ' ' || v.t || ' ') > 0
    ORDER BY v.o, w.id
    """
  )
  // In the order of the rows' keys, so that two transactions never wait for each other.
  private static let insertQueues = PostgreSQLStatement(
    """
    INSERT INTO delivery_queues (webhook, user_id, next_at)
    SELECT w.id, v.u, min(v.a) FROM unnest($1::uuid[], $2::text[], $3::bigint[]) AS v (u, t, a)
    JOIN webhooks AS w
      ON w.name IS NOT NULL AND w.disabled_at IS NULL AND strpos(' ' || w.events || ' ', ' ' || v.t || ' ') > 0
    GROUP BY w.id, v.u ORDER BY w.id, v.u
    ON CONFLICT (webhook, user_id) DO UPDATE SET next_at = delivery_queues.next_at WHERE FALSE
    """
  )
}
