import LockstepCollections
import LockstepPostgreSQL
import LockstepTime

package struct StoredSession: Sendable {
  package var session: Session
  package var user: UserID
  package var tokenHash: TokenHash

  package init(session: Session, user: UserID, tokenHash: TokenHash) {
    self.session = session
    self.user = user
    self.tokenHash = tokenHash
  }
}

/// An ended session, with the data that is needed to remove it from memory.
package struct EndedSession: Sendable, Equatable {
  package let id: SessionID
  package let tokenHash: TokenHash

  package init(id: SessionID, tokenHash: TokenHash) {
    (self.id, self.tokenHash) = (id, tokenHash)
  }
}

/// The last use of a session. It is written to the store at most once a minute.
package struct SessionUsage: Sendable, Equatable {
  package let id: SessionID
  package let user: UserID
  package let lastSeenAt: Timestamp
  package let expiresAt: Timestamp
  package let cursor: String?

  package init(id: SessionID, user: UserID, lastSeenAt: Timestamp, expiresAt: Timestamp, cursor: String?) {
    self.id = id
    self.user = user
    self.lastSeenAt = lastSeenAt
    self.expiresAt = expiresAt
    self.cursor = cursor
  }
}

package struct SessionRecords {
  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  package func insert(_ stored: StoredSession) throws {
    try connection.run(
      StoreSQL(
        sqlite: """
          INSERT INTO sessions (user_id, id, token_hash, device, created_at, last_seen_at, expires_at)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """,
        postgreSQL: """
          WITH inserted AS (
            INSERT INTO sessions (user_id, id, token_hash, device, created_at, last_seen_at, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING token_hash, user_id, id
          )
          INSERT INTO tokens (token_hash, user_id, session_id) SELECT token_hash, user_id, id FROM inserted
          """
      ),
      stored.user,
      stored.session.id,
      stored.tokenHash,
      stored.session.device,
      stored.session.createdAt,
      stored.session.lastSeenAt,
      stored.session.expiresAt
    )
  }

  /// Sets the times of use of a session that the store has under the same hash. Returns whether it
  /// has one.
  package func renew(_ session: StoredSession) throws -> Bool {
    try connection.run(
      "UPDATE sessions SET last_seen_at = ?, expires_at = ? WHERE user_id = ? AND token_hash = ?",
      session.session.lastSeenAt,
      session.session.expiresAt,
      session.user,
      session.tokenHash
    ) == 1
  }

  /// The last uses of the sessions of tokens. Without those whose user is disabled.
  package func usage(ofTokens hashes: [TokenHash]) throws -> [TokenHash: SessionUsage] {
    var found: [TokenHash: SessionUsage] = [:]
    guard case .postgreSQL(let session) = connection else {
      for hash in hashes {
        found[hash] = try connection.first(
          """
          SELECT s.id, s.user_id, s.last_seen_at, s.expires_at, s.cursor
          FROM sessions AS s JOIN users AS u ON u.id = s.user_id
          WHERE s.token_hash = ? AND u.disabled_at IS NULL
          """,
          hash
        ) { row in try Self.usage(row) }
      }
      return found
    }
    if hashes.isEmpty { return found }
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.findUsage, [.byteStrings(hashes.map(\.bytes))])
    let result = try session.send(pipeline)[0]
    for index in 0..<result.rowCount {
      let row = StoreRow.postgreSQL(PostgreSQLStoreRow(result: result, index: index))
      found[try row[5]] = try Self.usage(row)
    }
    return found
  }

  private static let findUsage = PostgreSQLStatement(
    """
    SELECT s.id, s.user_id, s.last_seen_at, s.expires_at, s.cursor, t.token_hash
    FROM tokens AS t JOIN sessions AS s ON s.user_id = t.user_id AND s.id = t.session_id
      JOIN users AS u ON u.id = t.user_id
    WHERE t.token_hash = ANY($1::bytea[]) AND u.disabled_at IS NULL
    """
  )

  private static func usage(_ row: borrowing StoreRow) throws -> SessionUsage {
    SessionUsage(
      id: try row[0],
      user: try row[1],
      lastSeenAt: Timestamp(millisecondsSince1970: Int64(try row.integer(at: 2))),
      expiresAt: Timestamp(millisecondsSince1970: Int64(try row.integer(at: 3))),
      cursor: try row[4]
    )
  }

  /// Whether the session exists. Disabling or erasing a user deletes the user's sessions.
  package func has(_ session: SessionID, of user: UserID) throws -> Bool {
    try connection.first("SELECT 1 FROM sessions WHERE user_id = ? AND id = ?", user, session) { _ in true } ?? false
  }

  /// Which of these sessions are not in the store any more.
  package func ended(of sessions: [EndedSession]) throws -> [EndedSession] {
    guard case .postgreSQL(let session) = connection, !sessions.isEmpty else { return [] }
    var pipeline = PostgreSQLPipeline()
    pipeline.add(Self.findMissing, [.byteStrings(sessions.map(\.tokenHash.bytes))])
    var missing: Set<TokenHash> = []
    try session.send(pipeline)[0].forEach { row in
      if let hash = TokenHash(bytes: try row.bytes(at: 0)) { missing.insert(hash) }
    }
    return sessions.filter { missing.contains($0.tokenHash) }
  }

  private static let findMissing = PostgreSQLStatement(
    """
    SELECT v.h FROM unnest($1::bytea[]) AS v (h) WHERE NOT EXISTS (SELECT FROM tokens AS t WHERE t.token_hash = v.h)
    """
  )

  /// The sessions of a user that have not expired, oldest first.
  package func sessions(of user: UserID, at now: Timestamp) throws -> [StoredSession] {
    try connection.all(
      """
      SELECT id, device, created_at, last_seen_at, expires_at, cursor, user_id, token_hash
      FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY id
      """,
      user,
      now,
      transform: Self.session
    )
  }

  package func update(_ usage: [SessionUsage]) throws {
    guard case .postgreSQL(let session) = connection else {
      for use in usage { try update(use) }
      return
    }
    try session.update(usage)
  }

  private func update(_ usage: SessionUsage) throws {
    try connection.run(
      "UPDATE sessions SET last_seen_at = ?, expires_at = ?, cursor = ? WHERE user_id = ? AND id = ?",
      usage.lastSeenAt,
      usage.expiresAt,
      usage.cursor,
      usage.user,
      usage.id
    )
  }

  /// Ends one session. Returns nil if the user has no such session. If it is the session of the
  /// user's identity, the tokens of the issuer up to `now` are refused from now on.
  package func end(_ id: SessionID, of user: UserID, at now: Timestamp) throws -> EndedSession? {
    let ended = try connection.first(
      StoreSQL(
        sqlite: "DELETE FROM sessions WHERE user_id = ? AND id = ? RETURNING id, token_hash",
        postgreSQL: """
          WITH gone AS (DELETE FROM sessions WHERE user_id = ? AND id = ? RETURNING id, token_hash),
          tokens AS (DELETE FROM tokens WHERE token_hash IN (SELECT token_hash FROM gone))
          SELECT id, token_hash FROM gone
          """
      ),
      user,
      id,
      transform: Self.ended
    )
    guard let ended else { return nil }
    let identities = IdentityRecords(connection: connection)
    if try identities.identity(of: user)?.sessionHash == ended.tokenHash {
      try identities.setValid(from: now, of: user)
    }
    return try notifying([ended], of: user, at: now).first
  }

  /// Ends all sessions of a user. The tokens of another issuer up to `now` are refused from now on.
  package func endAll(of user: UserID, except kept: SessionID? = nil, at now: Timestamp) throws -> [EndedSession] {
    try IdentityRecords(connection: connection).setValid(from: now, of: user)
    return try notifying(
      try connection.all(
        StoreSQL(
          sqlite: "DELETE FROM sessions WHERE user_id = ? AND id IS NOT ? RETURNING id, token_hash",
          postgreSQL: """
            WITH gone AS (DELETE FROM sessions WHERE user_id = ? AND id IS DISTINCT FROM ? RETURNING id, token_hash),
            tokens AS (DELETE FROM tokens WHERE token_hash IN (SELECT token_hash FROM gone))
            SELECT id, token_hash FROM gone
            """
        ),
        user,
        kept,
        transform: Self.ended
      ),
      of: user,
      at: now
    )
  }

  /// Ends the least recently used sessions of a user, so that `count` are left.
  package func endLeastRecentlyUsed(of user: UserID, keeping count: Int, at now: Timestamp) throws -> [EndedSession] {
    try notifying(
      try connection.all(
        StoreSQL(
          sqlite: """
            DELETE FROM sessions WHERE user_id = ?1 AND id IN (
              SELECT id FROM sessions WHERE user_id = ?1 ORDER BY last_seen_at DESC, id DESC LIMIT -1 OFFSET ?2
            ) RETURNING id, token_hash
            """,
          postgreSQL: """
            WITH gone AS (
              DELETE FROM sessions WHERE user_id = ?1 AND id IN (
                SELECT id FROM sessions WHERE user_id = ?1 ORDER BY last_seen_at DESC, id DESC OFFSET ?2
              ) RETURNING id, token_hash
            ),
            tokens AS (DELETE FROM tokens WHERE token_hash IN (SELECT token_hash FROM gone))
            SELECT id, token_hash FROM gone
            """
        ),
        user,
        count,
        transform: Self.ended
      ),
      of: user,
      at: now
    )
  }

  /// Deletes up to `limit` sessions, of all users, that expired before `moment`.
  package func removeExpired(before moment: Timestamp, limit: Int) throws -> [EndedSession] {
    try connection.all(
      StoreSQL(
        sqlite: """
          DELETE FROM sessions WHERE (user_id, id) IN (
            SELECT user_id, id FROM sessions WHERE expires_at < ? ORDER BY expires_at LIMIT ?
          ) RETURNING id, token_hash
          """,
        // Another node may delete the same rows.
        postgreSQL: """
          WITH expired AS (
            SELECT user_id, id FROM sessions WHERE expires_at < ? ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED
          ),
          gone AS (
            DELETE FROM sessions WHERE (user_id, id) IN (SELECT user_id, id FROM expired) RETURNING id, token_hash
          ),
          tokens AS (DELETE FROM tokens WHERE token_hash IN (SELECT token_hash FROM gone))
          SELECT id, token_hash FROM gone
          """
      ),
      moment,
      limit,
      transform: Self.ended
    )
  }

  /// Notifies the other servers and the webhooks that these sessions have ended.
  private func notifying(_ ended: [EndedSession], of user: UserID, at now: Timestamp) throws -> [EndedSession] {
    if !ended.isEmpty { connection.announce { $0.endedSessions += ended } }
    try WebhookOutbox(connection: connection).addEnds(of: ended, of: user, at: now)
    return ended
  }

  private static func session(_ row: borrowing StoreRow) throws -> StoredSession {
    StoredSession(
      session: Session(
        id: try row[0],
        device: try row[1],
        createdAt: try row[2],
        lastSeenAt: try row[3],
        expiresAt: try row[4],
        cursor: try row[5]
      ),
      user: try row[6],
      tokenHash: try row[7]
    )
  }

  private static func ended(_ row: borrowing StoreRow) throws -> EndedSession {
    EndedSession(id: try row[0], tokenHash: try row[1])
  }
}
