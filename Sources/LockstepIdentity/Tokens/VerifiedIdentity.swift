import LockstepTime

/// The user whom a valid token names. An issuer never gives the same subject to two users.
package struct VerifiedIdentity: Sendable, Equatable {
  package let issuer: String
  package let subject: String
  /// The server accepts the token for 60 seconds more, because clocks differ.
  package let expiresAt: Timestamp
  package let issuedAt: Timestamp?
  package let email: String?
  /// Whether the issuer has verified the address. False without an address.
  package let emailVerified: Bool
  /// The id of the login at the issuer, from the claim `sid` or `session_id`.
  package let sessionID: String?

  package init(
    issuer: String,
    subject: String,
    expiresAt: Timestamp,
    issuedAt: Timestamp? = nil,
    email: String? = nil,
    emailVerified: Bool = false,
    sessionID: String? = nil
  ) {
    self.issuer = issuer
    self.subject = subject
    self.expiresAt = expiresAt
    self.issuedAt = issuedAt
    self.email = email
    self.emailVerified = emailVerified
    self.sessionID = sessionID
  }
}
