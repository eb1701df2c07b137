import LockstepCollections
import LockstepTime

/// The secret of a link in a mail: 256 bits, as hexadecimal digits.
///
/// It is derived from the store's key and the id of the event whose deliveries contain it. So each
/// attempt to deliver the event has the same token, and no table has it.
package struct MailToken: Sendable, Redacted {
  package let text: String

  /// A token as a client has sent it.
  package init(_ text: String) { self.text = text }

  fileprivate var hash: TokenHash {
    // The hash has 32 bytes.
    TokenHash(bytes: DomainHash.of("mail link", Array(text.utf8))) ?? TokenHash(words: .zero)
  }
}

extension TokenKey {
  /// The token that the deliveries of an event contain.
  package func mailToken(of event: WebhookEventID) -> MailToken {
    MailToken(hexadecimal(hash(for: "mail token", Array(event.description.utf8), count: 32)))
  }
}

/// A link in a mail. It works once.
package struct MailLink: Sendable {
  package enum Kind: String, Sendable {
    case passwordReset = "password.reset"
    case emailProof = "email.proof"
  }

  package let kind: Kind
  package let user: UserID
  /// The address that the link was sent to, and its key.
  package let email: String
  package let emailKey: String
  package let expiresAt: Timestamp

  package init(_ kind: Kind, of user: UserID, email: String, key: String, until end: Timestamp) {
    (self.kind, self.user, self.email, emailKey, expiresAt) = (kind, user, email, key, end)
  }
}

/// The table `mail_links`.
package struct MailLinkRecords {
  let connection: StoreConnection

  package init(connection: StoreConnection) { self.connection = connection }

  package func insert(_ link: MailLink, with token: MailToken) throws {
    try connection.run(
      "INSERT INTO mail_links (token_hash, kind, user_id, email, email_key, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
      token.hash,
      link.kind.rawValue,
      link.user,
      link.email,
      link.emailKey,
      link.expiresAt
    )
  }

  /// The link with this token. Nil if there is none, if it was used, or if it has expired.
  package func link(_ kind: MailLink.Kind, with token: MailToken, at now: Timestamp) throws -> MailLink? {
    try connection.first(
      """
      SELECT user_id, email, email_key, expires_at FROM mail_links
      WHERE token_hash = ? AND kind = ? AND expires_at > ?
      """,
      token.hash,
      kind.rawValue,
      now
    ) { row in
      MailLink(kind, of: try row[0], email: try row[1], key: try row[2], until: try row[3])
    }
  }

  package func removeAll(of user: UserID) throws {
    try connection.run("DELETE FROM mail_links WHERE user_id = ?", user)
  }

  package func removeAll(_ kind: MailLink.Kind, of user: UserID) throws {
    try connection.run("DELETE FROM mail_links WHERE user_id = ? AND kind = ?", user, kind.rawValue)
  }

  package func haveExpired(at now: Timestamp) throws -> Bool {
    try connection.first("SELECT 1 FROM mail_links WHERE expires_at <= ? LIMIT 1", now) { _ in true } ?? false
  }

  /// Deletes up to `limit` links that have expired. Returns how many it has deleted.
  package func removeExpired(at now: Timestamp, limit: Int) throws -> Int {
    try connection.run(
      StoreSQL(
        sqlite: """
          DELETE FROM mail_links WHERE token_hash IN (
            SELECT token_hash FROM mail_links WHERE expires_at <= ? ORDER BY expires_at LIMIT ?
          )
          """,
        // Another node may delete the same rows.
        postgreSQL: """
          DELETE FROM mail_links WHERE token_hash IN (
            SELECT token_hash FROM mail_links WHERE expires_at <= ? ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED
          )
          """
      ),
      now,
      limit
    )
  }
}
