import LockstepCollections
import LockstepIdentity
import LockstepStore
import LockstepThreading
import LockstepTime

/// The sessions of requests with tokens of other issuers.
///
/// All tokens of an identity share one session in the store, so that it can be listed and ended
/// like any other. When it is ended, tokens that were issued up to then are refused.
package final class IdentitySessions: Sendable {
  /// Identifies a token by its identity and its times.
  private struct Key: Sendable, Hashable {
    let identity: Identity
    let issuedAt: Int64
    let expiresAt: Int64

    init(_ verified: VerifiedIdentity) {
      identity = Identity(issuer: verified.issuer, subject: verified.subject)
      issuedAt = verified.issuedAt?.millisecondsSince1970 ?? 0
      expiresAt = verified.expiresAt.millisecondsSince1970
    }
  }

  /// Why a server without issuers refuses a token.
  package static let noIssuers =
    "This server accepts no tokens of other issuers. Its operator can allow an issuer with --identity."

  /// How many tokens have a session in memory. A held session stays in memory, so this must be less
  /// than `AccountsConfiguration.sessionsInMemory`.
  private static let capacity = 32_768

  private let accounts: StoredAccounts
  private let verifier: TokenVerifier
  private let sessions = LockedState(GenerationalCache<Key, LiveSession>(capacity: capacity))
  private let flights = SingleFlight<Key, LiveSession, AccountsError>()

  package init(_ accounts: StoredAccounts, _ verifier: TokenVerifier) {
    (self.accounts, self.verifier) = (accounts, verifier)
  }

  /// The session of a token that was verified before. It never waits. Times are in milliseconds
  /// since 1970.
  package func session(_ token: UnsafeRawBufferPointer, at now: Int64) -> LiveSession? {
    verifier.remembered(token).flatMap { session(Key($0), at: now) }
  }

  private func session(_ key: Key, at now: Int64) -> LiveSession? {
    guard let session = sessions.withLock({ $0.use(key) }),
      let shared = accounts.directory.session(of: session.tokenHash, at: now), session.shares(shared)
    else { return nil }
    return session
  }

  /// Verifies a token and returns its session. The first token of an identity makes the session,
  /// and the user if there is none.
  ///
  /// Throws `invalidToken`, `keysUnavailable`, `registrationClosed`, `disabled`, `issuedBeforeEnd`,
  /// `sessionEnded`, `tooManyAttempts`, `userIsBeingErased`.
  package func load(
    _ token: [UInt8],
    from network: ClientNetwork,
    at now: Int64
  ) async throws(AccountsError) -> LiveSession {
    let verified = try await verify(token)
    let key = Key(verified)
    if let session = session(key, at: now) { return session }
    let issued = IssuedIdentity(verified)
    return try await flights.value(of: key) { () async throws(AccountsError) in
      let session = LiveSession(
        sharing: try await sharedSession(issued, from: network, at: now),
        until: key.expiresAt + TokenVerifier.leeway
      )
      sessions.withLock { $0.insert(session, for: key) }
      return session
    }
  }

  /// The identity of a token. Throws `invalidToken`, `keysUnavailable`.
  package func identity(of token: String) async throws(AccountsError) -> IssuedIdentity {
    IssuedIdentity(try await verify(Array(token.utf8)))
  }

  private func verify(_ token: [UInt8]) async throws(AccountsError) -> VerifiedIdentity {
    do throws(TokenRefusal) {
      return try await verifier.verify(token)
    } catch {
      switch error {
      case .notValid(let fault): throw .invalidToken(fault.detail)
      case .keysUnavailable(let issuer, let time):
        throw .keysUnavailable(issuer: issuer, retryAfter: max(1, Int(time.components.seconds)))
      }
    }
  }

  /// The session that the identity's tokens share.
  private func sharedSession(
    _ issued: IssuedIdentity,
    from network: ClientNetwork,
    at now: Int64
  ) async throws(AccountsError) -> LiveSession {
    let (identity, directory) = (issued.identity, accounts.directory)
    let stored = try await accounts.read { try IdentityRecords(connection: $0).find(identity) }
    if let stored {
      if issued.isOlder(than: stored) { throw .issuedBeforeEnd }
      if let note = accounts.prepareRecordOfLatestIssue(of: issued) { try await accounts.commit(note) }
      if let live = directory.session(of: identity.sessionHash, at: now) { return live }
      if let loaded = try await directory.loadSession(of: identity.sessionHash, from: network, at: now) {
        return loaded
      }
    }
    try await accounts.commit(accounts.prepareSession(of: issued, from: network))
    guard let loaded = try await directory.loadSession(of: identity.sessionHash, from: network, at: now) else {
      throw .sessionEnded
    }
    return loaded
  }
}

extension IssuedIdentity {
  init(_ verified: VerifiedIdentity) {
    self.init(
      Identity(issuer: verified.issuer, subject: verified.subject),
      issuedAt: verified.issuedAt
    )
  }

  /// Whether the token was issued before the session of the identity was ended.
  func isOlder(than stored: StoredIdentity) -> Bool {
    (issuedAt ?? Timestamp(millisecondsSince1970: 0)) < stored.validFrom
  }
}
