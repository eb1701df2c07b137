import LockstepCollections
import LockstepSQLite
import LockstepTime

/// An `Idempotency-Key`, with what tells whether the request is the same one again.
package struct IdempotencyKey: Sendable, Hashable {
  package let key: String
  /// Of the request's method, path and body, and of what the body means. Where a body holds a password, this must not be a way to guess it: see
  /// `init(_:method:target:meaning:body:secret:)`.
  package let fingerprint: [UInt8]

  /// The longest key that is taken.
  package static let maximumBytes = 256

  /// A key of its parts.
  package init(_ key: String, fingerprint: [UInt8]) {
    self.key = key
    self.fingerprint = fingerprint
  }

  /// - Parameters:
  ///   - key: What the client sent.
  ///   - method: The request's.
  ///   - target: Its path and query.
  ///   - meaning: What tells requests apart whose bodies are the same and mean different things; empty where nothing does.
  ///   - body: Its body.
  ///   - secret: What nobody can guess and the store doesn't hold, such as the request's token, where the body has a
  ///     password in it; else empty.
  package init(
    _ key: String,
    method: String,
    target: String,
    meaning: String = "",
    body: [UInt8],
    secret: [UInt8] = []
  ) {
    self.key = key
    let (method, target, meaning) = (Array(method.utf8), Array(target.utf8), Array(meaning.utf8))
    fingerprint =
      meaning.isEmpty
      ? DomainHash.of("request", method, target, body, secret)
      : DomainHash.of("request", method, target, body, secret, meaning)
  }
}

/// An answer that is kept, to be given again.
package struct StoredResponse: Sendable, Equatable {
  package let status: Int
  /// The header fields, as they go over the wire.
  package let fields: [UInt8]
  package let body: [UInt8]?

  package init(status: Int, fields: [UInt8], body: [UInt8]? = nil) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// The tables `idempotency_keys` and `outsider_keys`.
package struct IdempotencyRecords {
  /// How long an answer is kept, in milliseconds.
  static let lifetime: Int64 = 24 * 3_600_000
  /// How many that are too old each new one lets go.
  private static let sweep = 4

  let connection: SQLiteConnection

  package init(connection: SQLiteConnection) {
    self.connection = connection
  }

  /// The answer that was given to a key; nil where there is none, or it's too old. Throws when it was another request's.
  package func answer(to key: IdempotencyKey, of owner: IdempotencyKeyOwner, now: Timestamp) throws -> StoredResponse? {
    guard let (fingerprint, answer) = try kept(key.key, of: owner, now: now) else { return nil }
    guard fingerprint == key.fingerprint else { throw IdempotencyKeyReusedError() }
    return answer
  }

  /// The answer that was given to a key, no earlier than some moment, and the fingerprint of the request.
  package func kept(
    _ key: String,
    of owner: IdempotencyKeyOwner,
    now: Timestamp,
    since moment: Timestamp? = nil
  ) throws -> (fingerprint: [UInt8], answer: StoredResponse)? {
    let oldest = max(now.millisecondsSince1970 - Self.lifetime, moment.map { $0.millisecondsSince1970 - 1 } ?? .min)
    switch owner {
    case .user(let user):
      return try connection.first(
        "SELECT fingerprint, status, fields, body FROM idempotency_keys WHERE user_id = ? AND key = ? AND at > ?",
        user,
        key,
        oldest,
        transform: Self.answer
      )
    case .outsider(let hash):
      return try connection.first(
        "SELECT fingerprint, status, fields, body FROM outsider_keys WHERE id = ? AND at > ?",
        Self.id(key, hash),
        oldest,
        transform: Self.answer
      )
    }
  }

  /// The keys of a user whose answers are kept, and since when, oldest first.
  package func keys(of user: UserID) throws -> [(key: String, at: Timestamp)] {
    try connection.all("SELECT key, at FROM idempotency_keys WHERE user_id = ? ORDER BY at, key", user) { row in
      (try row[0] as String, try row[1] as Timestamp)
    }
  }

  /// Keeps the answer to a key, and lets a few go that are too old.
  package func keep(_ answer: StoredResponse, to key: IdempotencyKey, of owner: IdempotencyKeyOwner, now: Timestamp)
    throws
  {
    try sweep(before: now.millisecondsSince1970 - Self.lifetime)
    switch owner {
    case .user(let user):
      try connection.run(
        """
        INSERT OR REPLACE INTO idempotency_keys (user_id, key, fingerprint, at, status, fields, body)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        user,
        key.key,
        key.fingerprint,
        now,
        answer.status,
        answer.fields,
        answer.body
      )
    case .outsider(let hash):
      try connection.run(
        """
        INSERT OR REPLACE INTO outsider_keys (id, fingerprint, at, status, fields, body) VALUES (?, ?, ?, ?, ?, ?)
        """,
        Self.id(key.key, hash),
        key.fingerprint,
        now,
        answer.status,
        answer.fields,
        answer.body
      )
    }
  }

  private func sweep(before oldest: Int64) throws {
    try connection.run(
      """
      DELETE FROM idempotency_keys WHERE (user_id, key) IN
        (SELECT user_id, key FROM idempotency_keys WHERE at <= ? ORDER BY at LIMIT ?)
      """,
      oldest,
      Self.sweep
    )
    try connection.run(
      "DELETE FROM outsider_keys WHERE id IN (SELECT id FROM outsider_keys WHERE at <= ? ORDER BY at LIMIT ?)",
      oldest,
      Self.sweep
    )
  }

  private static func answer(_ row: borrowing SQLiteRow) throws -> (fingerprint: [UInt8], answer: StoredResponse) {
    (try row[0] as [UInt8], StoredResponse(status: try row[1], fields: try row[2], body: try row[3]))
  }

  private static func id(_ key: String, _ owner: [UInt8]) -> [UInt8] { DomainHash.of("key", owner, Array(key.utf8)) }
}

/// A key came again with another request.
package struct IdempotencyKeyReusedError: Error {
  package init() {}
}
