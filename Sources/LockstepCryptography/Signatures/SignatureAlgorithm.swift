/// An algorithm for signatures of tokens, by its name in JOSE (RFC 7518 and 8037).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
  /// RSA with PKCS #1 1.5 and SHA-256.
  case rs256 = "RS256"
  /// RSA with PSS: SHA-256, also for the mask, and a salt of 32 bytes.
  case ps256 = "PS256"
  /// ECDSA on P-256 with SHA-256.
  case es256 = "ES256"
  /// Ed25519.
  case edDSA = "EdDSA"
}
