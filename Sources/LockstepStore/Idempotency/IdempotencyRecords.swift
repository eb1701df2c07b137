import LockstepCollections
import LockstepTime

/// A response as it is recorded for its idempotency key.
package struct StoredResponse: Sendable, Equatable {
  package let status: Int
  /// The header fields in wire format.
  package let fields: [UInt8]
  package let body: [UInt8]?

  package init(status: Int, fields: [UInt8], body: [UInt8]? = nil) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// The response to a write with an idempotency key.
package struct KeyedResponse: Sendable {
  package let response: StoredResponse
  /// Whether an earlier request with the same key got this response.
  package let isReplay: Bool

  package init(response: StoredResponse, isReplay: Bool = false) {
    self.response = response
    self.isReplay = isReplay
  }
}

/// The session of a write that has changed a user's state, and the revision after it.
package struct KeyOrigin: Sendable {
  let session: SessionID
  let revision: Revision

  package init(session: SessionID, revision: Revision) {
    (self.session, self.revision) = (session, revision)
  }
}

/// The idempotency key of a session's write, and the user's revision after the write.
package struct SessionKey: Sendable, Equatable {
  package let revision: Revision
  package let key: String

  package init(revision: Revision, key: String) {
    (self.revision, self.key) = (revision, key)
  }
}

/// The recorded responses. The table `idempotency_keys` holds those to users, and `outsider_keys`
/// those to all other owners of keys, such as the administrator.
package struct IdempotencyRecords {
  /// How long a response is kept, in milliseconds.
  static let lifetime: Int64 = 24 * 3_600_000
  /// Recording a response deletes at most this many expired responses from each table.
  private static let sweep = 4

  private static let mostSessionKeys = 1_000

  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// Locks a key until the end of the transaction, because another server may get the same request.
  package func lock(_ key: String, of owner: IdempotencyKeyOwner) throws {
    let hash =
      switch owner {
      case .user(let user): DomainHash.of("user", Array("\(user)".utf8))
      case .outsider(let hash): hash
      }
    try connection.lock(Self.id(key, hash))
  }

  /// Throws `IdempotencyKeyInUseError` if a response to the key is recorded: then another server has
  /// recorded it after this one had looked.
  package func expectNone(_ key: String, of owner: IdempotencyKeyOwner, at now: Timestamp) throws {
    guard case .postgreSQL = connection else { return }
    if try recorded(key, of: owner, at: now) != nil { throw IdempotencyKeyInUseError() }
  }

  /// Returns the recorded response to a key, or runs `write` and records its response.
  ///
  /// `write` may throw a refusal, but only before its first change. `refusal` makes the response to
  /// a refusal, and returns nil for any other error. This response is recorded too, because a retry
  /// must get the same response even if the state has changed. `recorded` returns the part of a
  /// response that is recorded. `origin` is the origin of what `write` has changed.
  ///
  /// Throws `IdempotencyKeyReusedError` if the key belongs to another request. Also throws the
  /// errors of `write` and of SQLite.
  package func once(
    _ key: IdempotencyKey,
    of owner: IdempotencyKeyOwner,
    at now: Timestamp,
    write: () throws -> StoredResponse,
    refusal: (any Error) -> StoredResponse?,
    recorded: (StoredResponse) -> StoredResponse = { $0 },
    origin: () -> KeyOrigin? = { nil }
  ) throws -> KeyedResponse {
    let known = try self.response(to: key, of: owner, at: now)
    if let known { return KeyedResponse(response: known, isReplay: true) }
    let response: StoredResponse
    do {
      response = try write()
    } catch {
      guard let refused = refusal(error) else { throw error }
      response = refused
    }
    try record(recorded(response), to: key, of: owner, at: now, origin())
    return KeyedResponse(response: response)
  }

  /// The recorded response to a key. Throws `IdempotencyKeyReusedError` if the key belongs to
  /// another request.
  package func response(
    to key: IdempotencyKey,
    of owner: IdempotencyKeyOwner,
    at now: Timestamp
  ) throws -> StoredResponse? {
    guard let (fingerprint, response) = try recorded(key.key, of: owner, at: now) else { return nil }
    guard fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
    return response
  }

  /// The fingerprint and the response of a key, if they have not expired and were recorded at
  /// `moment` or later.
  package func recorded(
    _ key: String,
    of owner: IdempotencyKeyOwner,
    at now: Timestamp,
    since moment: Timestamp? = nil
  ) throws -> (fingerprint: [UInt8], response: StoredResponse)? {
    let oldest = max(now.millisecondsSince1970 - Self.lifetime, moment.map { $0.millisecondsSince1970 - 1 } ?? .min)
    switch owner {
    case .user(let user):
      return try connection.first(
        "SELECT fingerprint, status, fields, body FROM idempotency_keys WHERE user_id = ? AND key = ? AND at > ?",
        user,
        key,
        oldest,
        transform: Self.row
      )
    case .outsider(let hash):
      return try connection.first(
        "SELECT fingerprint, status, fields, body FROM outsider_keys WHERE id = ? AND at > ?",
        Self.id(key, hash),
        oldest,
        transform: Self.row
      )
    }
  }

  /// The keys of a user's devices with the times of their responses, oldest first. Keys of service
  /// tokens, which contain a line break, are left out.
  package func keys(of user: UserID) throws -> [(key: String, at: Timestamp)] {
    try connection.all(
      "SELECT key, at FROM idempotency_keys WHERE user_id = ? AND replace(key, ?, '') = key ORDER BY at, key",
      user,
      "\n"
    ) { row in (try row[0] as String, try row[1] as Timestamp) }
  }

  /// The keys of a session's writes after a revision, in order, at most the last 1,000. Without a
  /// revision, those of the last 24 hours.
  package func keys(
    of session: SessionID,
    _ user: UserID,
    after revision: Revision?,
    at now: Timestamp
  ) throws -> [SessionKey] {
    let keys = try connection.all(
      """
      SELECT revision, key FROM idempotency_keys
      WHERE user_id = ? AND session_id = ? AND revision > ? AND at > ? ORDER BY revision DESC LIMIT ?
      """,
      user,
      session,
      revision ?? .none,
      revision == nil ? now.millisecondsSince1970 - Self.lifetime : .min,
      Self.mostSessionKeys
    ) { SessionKey(revision: try $0[0], key: try $0[1]) }
    return keys.reversed()
  }

  /// Records the response to a key, and deletes a few expired responses.
  package func record(
    _ response: StoredResponse,
    to key: IdempotencyKey,
    of owner: IdempotencyKeyOwner,
    at now: Timestamp,
    _ origin: KeyOrigin? = nil
  ) throws {
    try sweep(before: now.millisecondsSince1970 - Self.lifetime, limit: Self.sweep)
    switch owner {
    case .user(let user):
      try connection.run(
        """
        INSERT INTO idempotency_keys (user_id, key, fingerprint, at, status, fields, body, session_id, revision)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (user_id, key) DO UPDATE SET
          fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status, fields = excluded.fields,
          body = excluded.body, session_id = excluded.session_id, revision = excluded.revision
        """,
        user,
        key.key,
        key.fingerprint,
        now,
        response.status,
        response.fields,
        response.body,
        origin?.session,
        origin?.revision
      )
    case .outsider(let hash):
      try connection.run(
        """
        INSERT INTO outsider_keys (id, fingerprint, at, status, fields, body) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET
          fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status, fields = excluded.fields,
          body = excluded.body
        """,
        Self.id(key.key, hash),
        key.fingerprint,
        now,
        response.status,
        response.fields,
        response.body
      )
    }
  }

  /// Deletes up to `limit` expired responses of each table. Returns whether there may be more.
  @discardableResult
  func sweep(before oldest: Int64, limit: Int) throws -> Bool {
    // In PostgreSQL, rows that another server deletes are left to it.
    let users = try connection.run(
      StoreSQL(
        sqlite: """
          DELETE FROM idempotency_keys WHERE (user_id, key) IN
            (SELECT user_id, key FROM idempotency_keys WHERE at <= ? ORDER BY at LIMIT ?)
          """,
        postgreSQL: """
          DELETE FROM idempotency_keys WHERE (user_id, key) IN
            (SELECT user_id, key FROM idempotency_keys WHERE at <= ? ORDER BY at LIMIT ? FOR UPDATE SKIP LOCKED)
          """
      ),
      oldest,
      limit
    )
    let outsiders = try connection.run(
      StoreSQL(
        sqlite: """
          DELETE FROM outsider_keys WHERE id IN (SELECT id FROM outsider_keys WHERE at <= ? ORDER BY at LIMIT ?)
          """,
        postgreSQL: """
          DELETE FROM outsider_keys WHERE id IN
            (SELECT id FROM outsider_keys WHERE at <= ? ORDER BY at LIMIT ? FOR UPDATE SKIP LOCKED)
          """
      ),
      oldest,
      limit
    )
    return max(users, outsiders) == limit
  }

  // MARK: The limit for a user

  /// About how many bytes a record takes besides its key and its response.
  private static let overhead = 128

  /// The bytes of a record.
  package static func bytes(of response: StoredResponse, to key: IdempotencyKey) -> Int {
    overhead + key.key.utf8.count + response.fields.count + (response.body?.count ?? 0)
  }

  /// A record that is deleted because the records of its user take too much.
  package struct Excess: Sendable {
    fileprivate let key: String
    fileprivate let at: Timestamp
  }

  private static let partOfExcess = 256

  /// The user's oldest records, so that the others take at most `limit` bytes, in parts that one transaction
  /// deletes.
  package func excess(of user: UserID, limit: Int) throws -> [[Excess]] {
    let records = try sizes(of: user)
    var rest = records.reduce(0) { $0 + $1.bytes } - limit
    var excess: [Excess] = []
    for (record, bytes) in records where rest > 0 {
      excess.append(record)
      rest -= bytes
    }
    return stride(from: 0, to: excess.count, by: Self.partOfExcess).map { start in
      Array(excess[start..<min(start + Self.partOfExcess, excess.count)])
    }
  }

  /// Deletes records that `excess` has found, unless a key was used again meanwhile. Call it in a transaction that
  /// has locked the user.
  package func delete(_ records: [Excess], of user: UserID) throws {
    for record in records {
      try connection.run(
        "DELETE FROM idempotency_keys WHERE user_id = ? AND key = ? AND at = ?",
        user,
        record.key,
        record.at
      )
    }
  }

  /// The bytes of all records of a user.
  package func bytes(of user: UserID) throws -> Int {
    // Lists of users for administrators need this sum for each user. So the store adds up, and returns no records.
    let sum = try connection.first(
      StoreSQL(
        sqlite: """
          SELECT count(*), coalesce(sum(length(CAST(key AS BLOB)) + length(fields) + coalesce(length(body), 0)), 0)
          FROM idempotency_keys WHERE user_id = ?
          """,
        postgreSQL: """
          SELECT count(*),
            coalesce(sum(octet_length(key) + octet_length(fields) + coalesce(octet_length(body), 0)), 0)::bigint
          FROM idempotency_keys WHERE user_id = ?
          """
      ),
      user
    ) { row in (try row[0] as Int) * Self.overhead + (try row[1] as Int) }
    return sum ?? 0
  }

  /// A user's records and their sizes, oldest first.
  private func sizes(of user: UserID) throws -> [(record: Excess, bytes: Int)] {
    try connection.all(
      StoreSQL(
        sqlite: """
          SELECT key, at, length(CAST(key AS BLOB)) + length(fields) + coalesce(length(body), 0)
          FROM idempotency_keys WHERE user_id = ? ORDER BY at, key
          """,
        postgreSQL: """
          SELECT key, at, octet_length(key) + octet_length(fields) + coalesce(octet_length(body), 0)
          FROM idempotency_keys WHERE user_id = ? ORDER BY at, key
          """
      ),
      user
    ) { (Excess(key: try $0[0], at: try $0[1]), Self.overhead + (try $0[2] as Int)) }
  }

  private static func row(_ row: borrowing StoreRow) throws -> (fingerprint: [UInt8], response: StoredResponse) {
    (try row[0] as [UInt8], StoredResponse(status: try row[1], fields: try row[2], body: try row[3]))
  }

  private static func id(_ key: String, _ owner: [UInt8]) -> [UInt8] { DomainHash.of("key", owner, Array(key.utf8)) }
}
