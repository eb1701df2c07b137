import LockstepJSON
import LockstepTime

/// Reads and checks the claims of a token (RFC 7519).
struct TokenClaims {
  /// How far the clocks of the server and of an issuer may differ, in milliseconds.
  static let leeway: Int64 = 60_000

  /// The end of the year 9999, in seconds since 1970.
  private static let latest = 253_402_300_799.0

  private let claims: JSONObject

  init(_ claims: JSONObject) { self.claims = claims }

  func issuer() throws(InvalidTokenError) -> String {
    guard let issuer = claims["iss"]?.stringValue else { throw .claim("iss") }
    return issuer
  }

  /// The identity, if the token is for this issuer and valid now.
  func identity(for trusted: TrustedIssuer, now: Timestamp) throws(InvalidTokenError) -> VerifiedIdentity {
    try checkAudience(trusted)
    guard let expiresAt = try time("exp") else { throw .claim("exp") }
    let now = now.millisecondsSince1970
    guard now < expiresAt.millisecondsSince1970 + Self.leeway else { throw .expired }
    if let start = try time("nbf"), start.millisecondsSince1970 > now + Self.leeway { throw .notYetValid }
    let issuedAt = try time("iat")
    if let issuedAt, issuedAt.millisecondsSince1970 > now + Self.leeway { throw .issuedInFuture }
    guard let subject = text("sub", longest: 255) else { throw .claim("sub") }
    return VerifiedIdentity(issuer: trusted.name, subject: subject, expiresAt: expiresAt, issuedAt: issuedAt)
  }

  private func checkAudience(_ trusted: TrustedIssuer) throws(InvalidTokenError) {
    let audiences: [String]
    switch claims["aud"] {
    case .string(let audience): audiences = [audience]
    case .array(let elements):
      audiences = elements.compactMap(\.stringValue)
      guard audiences.count == elements.count, !audiences.isEmpty else { throw .claim("aud") }
    default: throw .claim("aud")
    }
    guard audiences.contains(where: trusted.audiences.containsBytes(of:)) else { throw .audience }
  }

  /// A number of seconds since 1970, perhaps with a fraction. Nil if there is no such claim.
  private func time(_ name: String) throws(InvalidTokenError) -> Timestamp? {
    guard let claim = claims[name] else { return nil }
    guard let seconds = claim.doubleValue, (0...Self.latest).contains(seconds) else { throw .claim(name) }
    return Timestamp(millisecondsSince1970: Int64(seconds * 1000))
  }

  /// A string without control characters. Nil if the claim is anything else.
  private func text(_ name: String, longest: Int) -> String? {
    guard let text = claims[name]?.stringValue, (1...longest).contains(text.utf8.count),
      !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
    else { return nil }
    return text
  }
}
