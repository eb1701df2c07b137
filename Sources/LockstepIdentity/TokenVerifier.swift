import LockstepCryptography
import LockstepJSON
import LockstepThreading
import LockstepTime

/// Verifies the tokens of other issuers (JWT), such as those of Firebase, Auth0 or Keycloak.
///
/// A token that was verified is remembered until it expires. If a key is no longer in the issuer's
/// set, its tokens end with the next fetch, so within the lifetime of the keys: 10 minutes to 24
/// hours, as the issuer's `Cache-Control` says.
package final class TokenVerifier: Sendable {
  /// How long after its expiry a token is accepted, in milliseconds.
  package static let leeway = TokenClaims.leeway

  private let issuers: [ExactText: IssuerKeys]
  private let remembered: RememberedTokens
  private let time: TimeSource

  /// Loads libcrypto, and throws if it is missing. Each issuer may occur once in `trusted`; see
  /// `TrustedIssuer.expectDifferentIssuers`. The fetches run in `tasks`, and end with it.
  ///
  /// `capacity` is the number of tokens to remember, or 0. Each takes about half a kilobyte.
  package init(
    _ trusted: [TrustedIssuer],
    source: any DocumentSource,
    tasks: TaskScope,
    time: TimeSource,
    capacity: Int = 65_536,
    report: @escaping @Sendable (KeyEvent) -> Void
  ) throws(CryptographyError) {
    try CryptoLibrary.load()
    var issuers: [ExactText: IssuerKeys] = [:]
    for one in trusted {
      issuers[one.name.exact] = IssuerKeys(one, source: source, tasks: tasks, time: time, report: report)
    }
    (self.issuers, self.time) = (issuers, time)
    remembered = RememberedTokens(capacity: capacity)
  }

  /// The states of the issuers' keys, by issuer.
  package var statuses: [IssuerStatus] { issuers.values.map(\.status).sorted { $0.issuer < $1.issuer } }

  /// Whether the bytes may be a token of another issuer: they begin as base64 of a JSON object
  /// does, and have a dot. The server's own tokens do not.
  package static func isCandidate(_ token: UnsafeRawBufferPointer) -> Bool {
    // After a brace, “y” stands for a quotation mark or a space, and “w” for a line break or a tab.
    token.count > 2 && token[0] == UInt8(ascii: "e")
      && (token[1] == UInt8(ascii: "y") || token[1] == UInt8(ascii: "w")) && token.contains(UInt8(ascii: "."))
  }

  /// Fetches the keys of all issuers, so that the first request does not wait for them. Does not
  /// throw if an issuer is down: `report` is called, and a request with its token tries again.
  nonisolated(nonsending) package func fetchKeys() async {
    await withDiscardingTaskGroup { group in
      for issuer in issuers.values { group.addTask { await issuer.fetch() } }
    }
  }

  /// The identity of a token that was verified before and is still valid. Takes a few microseconds.
  /// Nil means: call `verify`.
  package func remembered(_ token: UnsafeRawBufferPointer) -> VerifiedIdentity? {
    remembered(RememberedTokens.Digest(of: token))
  }

  /// Verifies a token. The first one of an issuer waits for its keys.
  nonisolated(nonsending) package func verify(_ token: [UInt8]) async throws(TokenRefusal) -> VerifiedIdentity {
    guard token.count <= CompactToken.longest else { throw .notValid(.tooLong) }
    let digest = token.withUnsafeBytes { RememberedTokens.Digest(of: $0) }
    if let identity = remembered(digest) { return identity }
    let (token, issuer, identity) = try check(token)
    let (key, generation) = try await issuer.key(token.keyID, for: token.algorithm)
    guard key.verify(token.signature, of: token.signed, by: token.algorithm) else { throw .notValid(.signature) }
    remembered.insert(.init(identity: identity, issuer: issuer, generation: generation), digest)
    return identity
  }

  /// Checks everything but the signature, so that a token with a wrong claim costs no fetch.
  private func check(
    _ token: [UInt8]
  ) throws(TokenRefusal) -> (CompactToken, IssuerKeys, VerifiedIdentity) {
    do throws(InvalidTokenError) {
      let token = try CompactToken(token)
      let claims = TokenClaims(token.claims)
      guard let issuer = issuers[try claims.issuer().exact] else { throw .issuer }
      guard issuer.trusted.algorithms.contains(token.algorithm) else { throw .algorithm }
      return (token, issuer, try claims.identity(for: issuer.trusted, now: time.now()))
    } catch {
      throw .notValid(error)
    }
  }

  private func remembered(_ digest: RememberedTokens.Digest) -> VerifiedIdentity? {
    guard let entry = remembered.entry(digest) else { return nil }
    let end = entry.identity.expiresAt.millisecondsSince1970 + TokenClaims.leeway
    guard time.millisecondsSince1970() < end else {
      remembered.remove(digest)
      return nil
    }
    return entry.issuer.generation() == entry.generation ? entry.identity : nil
  }
}
