import LockstepCollections
import LockstepStore
import LockstepThreading
import Synchronization

/// A session in memory. All requests of the session share this object, and so learn of its end.
///
/// A request with a service token has a session of its own, which no directory has. It ends with the
/// token.
///
/// All tokens of an identity share one session in the store. In memory, each token has an object of its
/// own, because each expires at another time.
package final class LiveSession: Sendable {
  /// Only the id of a user's session is in the store.
  package let id: SessionID
  package let user: UserID
  /// The service token that acts for the user; nil for a user's session.
  package let agent: LiveServiceToken?
  let tokenHash: TokenHash
  /// The session that the tokens of an identity share; nil for other sessions.
  private let shared: LiveSession?
  /// When the token of an identity expires, in milliseconds since 1970. Other tokens expire with the
  /// session.
  package let tokenExpiry: Int64
  /// Counts the end of this session, and more.
  package let changes: ChangeCount
  private let keys = LockedState(SessionKeys())
  private let ended = Atomic(false)
  private let freshMoment = Atomic<Int64>(0)
  /// The rate limit of the token. A session that was evicted from memory starts with a whole burst.
  package let rate: RateBucket

  init(id: SessionID, user: UserID, tokenHash: TokenHash, changes: ChangeCount = ChangeCount()) {
    self.id = id
    self.user = user
    self.tokenHash = tokenHash
    self.changes = changes
    (agent, shared, tokenExpiry, rate) = (nil, nil, .max, RateBucket())
  }

  /// The session of a request with the token of an identity, which expires at `expiry`.
  init(sharing shared: LiveSession, until expiry: Int64) {
    (id, user, tokenHash, changes, rate) = (shared.id, shared.user, shared.tokenHash, shared.changes, shared.rate)
    (self.shared, tokenExpiry, agent) = (shared, expiry, nil)
  }

  /// The session of one request, in which a service token acts for a user.
  package init(of user: UserID, for agent: LiveServiceToken) {
    id = agent.sessionID
    self.user = user
    self.agent = agent
    tokenHash = agent.hash
    changes = ChangeCount()
    (shared, tokenExpiry, rate) = (nil, .max, RateBucket())
  }

  /// Whether this is the session of a token of an identity, made from `session`.
  func shares(_ session: LiveSession) -> Bool { shared === session }

  /// The idempotency keys of the session's writes from after one revision up to another, in order.
  /// Nil if only the store has all of them.
  package func keys(after start: Revision, upTo end: Revision) -> [String]? {
    (shared ?? self).keys.withLock { $0.keys(after: start, upTo: end) }
  }

  /// Notes the key of a committed write, before its state is published.
  package func note(_ key: SessionKey) { (shared ?? self).keys.withLock { $0.add(key) } }

  /// Notes that the user's state is at this revision, and that keys of later writes are noted.
  package func noteKeys(after revision: Revision) { (shared ?? self).keys.withLock { $0.beginAfter(revision) } }

  /// A request that waits must check this after it has registered its waiter. Otherwise it could
  /// miss the end.
  package var isEnded: Bool {
    (shared ?? self).ended.load(ordering: .acquiring) || agent?.isEnded ?? false
  }

  /// Until this moment, in milliseconds since 1970, a request with the same token need not be
  /// recorded: the session and the token have not expired, and its last use was recorded less than a minute ago.
  package var freshUntil: Int64 { min((shared ?? self).freshMoment.load(ordering: .relaxed), tokenExpiry) }

  func setFresh(until moment: Int64) { freshMoment.store(moment, ordering: .relaxed) }

  func end() {
    ended.store(true, ordering: .releasing)
    changes.increment()
  }
}

/// Counts the running writes that may end sessions. A session ends in memory only after its end is
/// committed. In the meantime, a write of the session must check the store.
package final class SessionEndingTracker: Sendable {
  private let underWay = Atomic(0)

  /// Whether a session may have ended in the store but not yet in memory.
  package var areUnderWay: Bool { underWay.load(ordering: .acquiring) > 0 }

  /// Call this before a write that may end sessions.
  package func begin() { underWay.add(1, ordering: .acquiringAndReleasing) }

  /// Call this once for each `begin()`, after the sessions have ended in memory.
  package func finish() { underWay.subtract(1, ordering: .acquiringAndReleasing) }
}

extension LiveSession {
  /// Identifies the client's network to the writer, the encoders and the readers, so that the users of a
  /// network share their limits. Nil for a service token, which acts for many users.
  package func networkShare(_ network: ClientNetwork) -> Int? { agent == nil ? network.hashValue : nil }
}
