import LockstepJSON
import LockstepTime

/// The user whom a valid token names. An issuer never gives the same subject to two users.
package struct VerifiedIdentity: Sendable, Equatable {
  package let issuer: String
  package let subject: String
  /// The server accepts the token for 60 seconds more, because clocks differ.
  package let expiresAt: Timestamp
  package let issuedAt: Timestamp?

  package init(issuer: String, subject: String, expiresAt: Timestamp, issuedAt: Timestamp? = nil) {
    self.issuer = issuer
    self.subject = subject
    self.expiresAt = expiresAt
    self.issuedAt = issuedAt
  }

  package static func == (left: VerifiedIdentity, right: VerifiedIdentity) -> Bool {
    left.subject.hasSameBytes(as: right.subject) && left.issuer.hasSameBytes(as: right.issuer)
      && left.expiresAt == right.expiresAt && left.issuedAt == right.issuedAt
  }
}
