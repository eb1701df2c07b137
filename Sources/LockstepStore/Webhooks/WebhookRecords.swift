import LockstepCollections
import LockstepJSON
import LockstepTime

/// The table `webhooks`.
package struct WebhookRecords {
  /// The most webhooks of a store.
  package static let most = 20
  /// How long the secret before the last change signs too, in milliseconds.
  package static let secretOverlap: Int64 = 86_400_000

  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  /// The webhooks, by name.
  package func all() throws -> [WebhookRecord] {
    try connection.all(
      """
      SELECT id, name, url, events, secret, old_secret, old_secret_until, created_at, failing_since, disabled_at,
        secret_number, paused_until
      FROM webhooks WHERE name IS NOT NULL ORDER BY name
      """,
      transform: Self.record
    )
  }

  package func webhook(named name: String) throws -> WebhookRecord? {
    try all().first { $0.name.hasSameBytes(as: name) }
  }

  /// Whether an enabled webhook gets events of this type.
  package func isSubscribed(to type: WebhookEventType) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM webhooks WHERE name IS NOT NULL AND disabled_at IS NULL AND ' ' || events || ' ' LIKE ?",
      "% \(type.rawValue) %"
    ) { _ in true } ?? false
  }

  /// Locks the webhooks until the end of the transaction. Changes that are committed later see them
  /// as this transaction leaves them. Call this before the webhooks are read to be changed.
  package func lock() throws { try connection.lock(DeclaredCollectionsTable.lockName) }

  /// Adds a webhook, or replaces the one with its name, which is then enabled again.
  package func put(
    _ name: String,
    url: String,
    events: [WebhookEventType],
    secret: String,
    at now: Timestamp
  ) throws -> WebhookRecord {
    let known = try webhook(named: name)
    let keepsSecret = known?.secret.hasSameBytes(as: secret) ?? false
    let list = events.map(\.rawValue).joined(separator: " ")
    if let known {
      let old =
        keepsSecret ? known.oldSecret : (known.secret, now.advanced(byMilliseconds: Self.secretOverlap))
      try connection.run(
        """
        UPDATE webhooks SET url = ?, events = ?, secret = ?, secret_number = ?, old_secret = ?, old_secret_until = ?,
          failing_since = NULL, disabled_at = NULL, paused_until = NULL
        WHERE id = ?
        """,
        url,
        list,
        secret,
        known.secretNumber + (keepsSecret ? 0 : 1),
        old?.text,
        old?.until,
        known.id
      )
      // Queued deliveries do not wait for the end of their pause.
      if known.failingSince != nil || known.disabledAt != nil {
        try DeliveryQueues(connection: connection).makeDue(known.id, at: now)
      }
    } else {
      try connection.run(
        "INSERT INTO webhooks (id, name, url, events, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        try unusedID(),
        name,
        url,
        list,
        secret,
        now
      )
    }
    guard let stored = try webhook(named: name) else { throw WebhookMissingError() }
    return stored
  }

  /// Deletes a webhook. Its deliveries go later: see `purge`. Returns whether there was one.
  package func delete(_ name: String) throws -> Bool {
    try connection.run("UPDATE webhooks SET name = NULL, secret = '', old_secret = NULL WHERE name = ?", name) == 1
  }

  /// Whether deliveries of deleted webhooks are still to be deleted.
  package var haveDeleted: Bool {
    get throws { try connection.first("SELECT 1 FROM webhooks WHERE name IS NULL") { _ in true } ?? false }
  }

  /// Deletes up to `limit` deliveries of deleted webhooks. Returns whether there may be more.
  package func purge(limit: Int) throws -> Bool {
    let deleted = try connection.all("SELECT id FROM webhooks WHERE name IS NULL ORDER BY id") {
      try $0[0] as WebhookID
    }
    for id in deleted {
      let gone = try connection.run(
        "DELETE FROM deliveries WHERE number IN (SELECT number FROM deliveries WHERE webhook = ? LIMIT ?)",
        id,
        limit
      )
      let queues = try DeliveryQueues(connection: connection).purge(id, limit: limit)
      if gone > 0 || queues > 0 { return true }
      try connection.run("DELETE FROM webhooks WHERE id = ? AND name IS NULL", id)
    }
    return false
  }

  // MARK: Success and failure

  package func noteSuccess(of id: WebhookID) throws {
    try connection.run("UPDATE webhooks SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL", id)
  }

  /// Notes a failure. Disables the webhook if all deliveries have failed for `time`, in
  /// milliseconds. Returns whether this has disabled it.
  package func noteFailure(of id: WebhookID, at now: Timestamp, disablingAfter time: Int64) throws -> Bool {
    try connection.run("UPDATE webhooks SET failing_since = ? WHERE id = ? AND failing_since IS NULL", now, id)
    return try connection.run(
      "UPDATE webhooks SET disabled_at = ? WHERE id = ? AND disabled_at IS NULL AND failing_since <= ?",
      now,
      id,
      now.advanced(byMilliseconds: -time)
    ) == 1
  }

  /// Pauses deliveries to the webhook until `end`, unless it is paused for longer already.
  package func pause(_ id: WebhookID, until end: Timestamp) throws {
    try connection.run(
      "UPDATE webhooks SET paused_until = ?2 WHERE id = ?1 AND coalesce(paused_until, 0) < ?2",
      id,
      end
    )
  }

  /// Ends a pause.
  package func resume(_ id: WebhookID) throws {
    try connection.run("UPDATE webhooks SET paused_until = NULL WHERE id = ? AND paused_until IS NOT NULL", id)
  }

  /// Returns whether the webhook was enabled.
  package func disable(_ id: WebhookID, at now: Timestamp) throws -> Bool {
    try connection.run("UPDATE webhooks SET disabled_at = ? WHERE id = ? AND disabled_at IS NULL", now, id) == 1
  }

  /// An id that no delivery of a deleted webhook has.
  private func unusedID() throws -> Int {
    let largest = try connection.all(
      """
      SELECT coalesce(max(id), 0) FROM webhooks UNION ALL SELECT coalesce(max(webhook), 0) FROM deliveries
      UNION ALL SELECT coalesce(max(webhook), 0) FROM delivery_queues
      """
    ) { try $0[0] as Int }
    return max(0, largest.max() ?? 0) + 1
  }

  private static func record(_ row: borrowing StoreRow) throws -> WebhookRecord {
    let events: String = try row[3]
    let (oldSecret, until): (String?, Timestamp?) = (try row[5], try row[6])
    var old: (String, Timestamp)?
    if let oldSecret, let until { old = (oldSecret, until) }
    return WebhookRecord(
      id: try row[0],
      name: try row[1],
      url: try row[2],
      events: events.split(separator: " ").compactMap { WebhookEventType(rawValue: String($0)) },
      secret: try row[4],
      secretNumber: try row[10],
      oldSecret: old,
      createdAt: try row[7],
      failingSince: try row[8],
      disabledAt: try row[9],
      pausedUntil: try row[11]
    )
  }
}

/// A row that was written cannot be read.
private struct WebhookMissingError: Error {}

extension Timestamp {
  package func advanced(byMilliseconds milliseconds: Int64) -> Timestamp {
    Timestamp(millisecondsSince1970: millisecondsSince1970 + milliseconds)
  }
}
