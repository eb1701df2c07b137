import LockstepCollections
import LockstepJSON
import LockstepTime

/// The user of an issuer of tokens. Issuers and subjects are compared by bytes, as in the store.
package struct Identity: Sendable, Hashable {
  package let issuer: String
  package let subject: String

  package init(issuer: String, subject: String) {
    (self.issuer, self.subject) = (issuer, subject)
  }

  package static func == (left: Identity, right: Identity) -> Bool {
    left.subject.hasSameBytes(as: right.subject) && left.issuer.hasSameBytes(as: right.issuer)
  }

  package func hash(into hasher: inout Hasher) {
    issuer.hashBytes(into: &hasher)
    subject.hashBytes(into: &hasher)
  }

  /// The hash by which the session of all of the identity's tokens is found. A session's token has
  /// another one.
  package var sessionHash: TokenHash {
    let hash = DomainHash.of("session of an identity", Array(issuer.utf8), Array(subject.utf8))
    // The hash has 32 bytes.
    return TokenHash(bytes: hash) ?? TokenHash(words: .zero)
  }
}

/// Which user an identity belongs to.
package struct StoredIdentity: Sendable {
  package let user: UserID
  /// Tokens that were issued earlier are refused.
  package let validFrom: Timestamp
}

package struct IdentityRecords {
  let connection: StoreConnection

  package init(connection: StoreConnection) {
    self.connection = connection
  }

  /// Locks the identity until the end of the transaction. Call this before it is read, if it may be
  /// inserted.
  package func lock(_ identity: Identity) throws {
    try connection.lock(Array("identity".utf8) + identity.sessionHash.bytes)
  }

  package func find(_ identity: Identity) throws -> StoredIdentity? {
    try connection.first(
      "SELECT user_id, valid_from FROM identities WHERE issuer = ? AND subject = ?",
      identity.issuer,
      identity.subject
    ) { row in
      StoredIdentity(user: try row[0], validFrom: try row[1])
    }
  }

  package func identity(of user: UserID) throws -> Identity? {
    try connection.first("SELECT issuer, subject FROM identities WHERE user_id = ?", user) { row in
      Identity(issuer: try row[0], subject: try row[1])
    }
  }

  package func insert(_ identity: Identity, of user: UserID, at now: Timestamp) throws {
    try connection.run(
      """
      INSERT INTO identities (issuer, subject, user_id, created_at, valid_from, latest_issue)
      VALUES (?, ?, ?, ?, 0, 0)
      """,
      identity.issuer,
      identity.subject,
      user,
      now
    )
  }

  /// Refuses the tokens of the user's identity that were issued before `moment`, and those that are
  /// known to have a later time of issue, because the issuer's clock is ahead.
  package func setValid(from moment: Timestamp, of user: UserID) throws {
    try connection.run(
      StoreSQL(
        sqlite: "UPDATE identities SET valid_from = max(?, latest_issue + 1) WHERE user_id = ?",
        postgreSQL: "UPDATE identities SET valid_from = greatest(?::bigint, latest_issue + 1) WHERE user_id = ?"
      ),
      moment,
      user
    )
  }

  /// Records the time of issue of an accepted token, if it is ahead of the server's clock.
  package func recordLatestIssue(_ issue: Timestamp, of identity: Identity) throws {
    try connection.run(
      "UPDATE identities SET latest_issue = ? WHERE issuer = ? AND subject = ? AND latest_issue < ?",
      issue,
      identity.issuer,
      identity.subject,
      issue
    )
  }
}
