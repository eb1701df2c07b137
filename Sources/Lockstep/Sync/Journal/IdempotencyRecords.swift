import CSodium
import SQLite

/// An `Idempotency-Key`, with what tells whether the request is the same one again.
struct IdempotencyKey: Sendable, Hashable {
  let key: String
  /// Of the request's method, path and body.
  let fingerprint: [UInt8]

  /// The longest key that is taken.
  static let maximumBytes = 256

  init(_ key: String, method: String, target: String, body: [UInt8]) {
    self.key = key
    // Lengths come before the parts, so that no two requests run into the same bytes.
    var bytes = Array("\(method.utf8.count) \(method) \(target.utf8.count) \(target) ".utf8)
    bytes += body
    fingerprint = Self.hash(bytes)
  }

  private static func hash(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    // It has no way to fail, and needs no `sodium_init`: there is nothing random or machine-dependent in it.
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }
}

/// An answer that is kept, to be given again.
struct StoredAnswer: Sendable, Equatable {
  let status: Int
  /// The header fields, as they go over the wire.
  let fields: [UInt8]
  let body: [UInt8]?
}

/// The table `idempotency_keys`.
struct IdempotencyRecords {
  /// How long an answer is kept, in milliseconds.
  static let lifetime: Int64 = 24 * 3_600_000

  let connection: Connection

  /// The answer that was given to a key; nil where there is none, or it's too old. Throws when it was another request's.
  func answer(to key: IdempotencyKey, of user: UserID, now: Timestamp) throws -> StoredAnswer? {
    let found = try connection.first(
      "SELECT fingerprint, status, fields, body FROM idempotency_keys WHERE user_id = ? AND key = ? AND at > ?",
      user,
      key.key,
      now.millisecondsSince1970 - Self.lifetime
    ) { row in
      (try row[0] as [UInt8], StoredAnswer(status: try row[1], fields: try row[2], body: try row[3]))
    }
    guard let (fingerprint, answer) = found else { return nil }
    guard fingerprint == key.fingerprint else { throw IdempotencyKeyReused() }
    return answer
  }

  /// The keys of a user whose answers are kept, and since when, oldest first.
  func keys(of user: UserID) throws -> [(key: String, at: Timestamp)] {
    try connection.all("SELECT key, at FROM idempotency_keys WHERE user_id = ? ORDER BY at, key", user) { row in
      (try row[0] as String, try row[1] as Timestamp)
    }
  }

  /// Keeps the answer to a key, and lets a few go that are too old.
  func keep(_ answer: StoredAnswer, to key: IdempotencyKey, of user: UserID, now: Timestamp) throws {
    try connection.run(
      """
      DELETE FROM idempotency_keys WHERE (user_id, key) IN
        (SELECT user_id, key FROM idempotency_keys WHERE at <= ? ORDER BY at LIMIT 4)
      """,
      now.millisecondsSince1970 - Self.lifetime
    )
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
  }
}

/// A key came again with another request.
struct IdempotencyKeyReused: Error {}
