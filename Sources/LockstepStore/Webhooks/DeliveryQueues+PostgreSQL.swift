import LockstepCollections
import LockstepPostgreSQL
import LockstepTime

extension PostgreSQLSession {
  /// Claims deliveries that no other server has claimed. The first statement locks their queues.
  /// The second one reads the heads with a newer snapshot, so it sees all results that were
  /// recorded before.
  func claim(
    _ webhook: WebhookID,
    limit: Int,
    at now: Timestamp,
    until end: Timestamp
  ) throws -> [ClaimedDelivery] {
    let claim = ClaimedDelivery.newClaim()
    var first = PostgreSQLPipeline()
    first.add(
      Self.claimQueues,
      [
        .integer(Int64(webhook.number)), .integer(now.millisecondsSince1970), .integer(Int64(limit)),
        .integer(end.millisecondsSince1970), .integer(claim),
      ]
    )
    var users: [UserID] = []
    try send(first)[0].forEach { users.append(try $0.userID(at: 0)) }
    if users.isEmpty { return [] }
    var second = PostgreSQLPipeline()
    second.add(Self.readHeads, [.integer(Int64(webhook.number)), .uuids(users.map(\.value))])
    let result = try send(second)[0]
    var (deliveries, missing) = ([ClaimedDelivery](), Set(users))
    for index in 0..<result.rowCount {
      let row = StoreRow.postgreSQL(PostgreSQLStoreRow(result: result, index: index))
      let user: UserID = try row[0]
      missing.remove(user)
      deliveries.append(try ClaimedDelivery(row, from: 1, webhook: webhook, user: user, claim: claim))
    }
    if !missing.isEmpty {
      // Their only deliveries were deleted with the users.
      var third = PostgreSQLPipeline()
      third.add(
        Self.deleteEmpty,
        [.integers(missing.map { _ in Int64(webhook.number) }), .uuids(missing.map(\.value))]
      )
      _ = try send(third)
    }
    return deliveries
  }

  func record(_ results: [DeliveryResult], at now: Timestamp) throws {
    if results.isEmpty { return }
    var lock = PostgreSQLPipeline()
    lock.add(Self.lockClaimed, Self.keys(of: results) + [.integers(results.map(\.delivery.claim))])
    // The other claims had expired, and their deliveries were claimed again.
    var held: [DeliveryResult] = []
    try send(lock)[0].forEach { held.append(results[try $0.integer(at: 0) - 1]) }
    if held.isEmpty { return }
    let keys = Self.keys(of: held)
    let retries = held.map { result -> Int64? in
      if case .retry(let time) = result.nextStep { time.millisecondsSince1970 } else { nil }
    }
    var pipeline = PostgreSQLPipeline()
    pipeline.add(
      Self.updateDeliveries,
      [
        .integers(held.map { Int64($0.delivery.number) }), .uuids(held.map(\.delivery.id.value)),
        .integers(held.map { Int64($0.stored.rawValue) }), .integers(held.map { $0.counts ? 1 : 0 }),
        .integers(held.map(\.at.millisecondsSince1970)), .optionalIntegers(held.map { $0.status.map { Int64($0) } }),
        .optionalTexts(held.map(\.error)),
      ]
    )
    pipeline.add(
      Self.releaseQueues,
      keys + [
        .integers(held.map { Int64($0.delivery.number) }), .optionalIntegers(retries),
        .integer(now.millisecondsSince1970),
      ]
    )
    pipeline.add(Self.deleteEmpty, keys)
    _ = try send(pipeline)
  }

  private static func keys(of results: [DeliveryResult]) -> [PostgreSQLValue] {
    [.integers(results.map { Int64($0.delivery.webhook.number) }), .uuids(results.map(\.delivery.user.value))]
  }

  private static let claimQueues = PostgreSQLStatement(
    """
    UPDATE delivery_queues AS q SET next_at = $4, claim = $5
    FROM (
      SELECT webhook, user_id FROM delivery_queues WHERE webhook = $1 AND next_at <= $2
      ORDER BY next_at LIMIT $3 FOR UPDATE SKIP LOCKED
    ) AS v
    WHERE q.webhook = v.webhook AND q.user_id = v.user_id RETURNING q.user_id
    """
  )
  private static let readHeads = PostgreSQLStatement(
    """
    SELECT v.u, d.number, d.id, d.type, d.data, d.created_at, d.attempts FROM unnest($2::uuid[]) AS v (u)
    CROSS JOIN LATERAL (
      SELECT number, id, type, data, created_at, attempts FROM deliveries
      WHERE user_id = v.u AND webhook = $1 AND status = 0 ORDER BY number LIMIT 1
    ) AS d
    """
  )
  private static let lockClaimed = PostgreSQLStatement(
    """
    SELECT v.o FROM unnest($1::bigint[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS v (w, u, c, o)
    JOIN delivery_queues AS q ON q.webhook = v.w AND q.user_id = v.u AND q.claim = v.c
    ORDER BY q.webhook, q.user_id FOR UPDATE OF q
    """
  )
  private static let updateDeliveries = PostgreSQLStatement(
    """
    UPDATE deliveries AS d SET
      status = v.s, attempts = d.attempts + v.c, attempted_at = v.a, last_status = v.l, last_error = v.e
    FROM unnest(
      $1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[]
    ) AS v (n, i, s, c, a, l, e)
    WHERE d.number = v.n AND d.id = v.i
    """
  )
  /// A delivery that was deleted is not tried again, so the next one is due.
  private static let releaseQueues = PostgreSQLStatement(
    """
    UPDATE delivery_queues AS q SET claim = NULL, next_at = CASE
      WHEN v.r IS NOT NULL AND EXISTS (SELECT FROM deliveries AS d WHERE d.number = v.n) THEN v.r ELSE $5 END
    FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[]) AS v (w, u, n, r)
    WHERE q.webhook = v.w AND q.user_id = v.u
    """
  )
  private static let deleteEmpty = PostgreSQLStatement(
    """
    DELETE FROM delivery_queues AS q USING unnest($1::bigint[], $2::uuid[]) AS v (w, u)
    WHERE q.webhook = v.w AND q.user_id = v.u
      AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.user_id = v.u AND d.webhook = v.w AND d.status = 0)
    """
  )
}
