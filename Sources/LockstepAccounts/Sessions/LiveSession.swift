import LockstepCollections
import LockstepStore
import Synchronization

/// A session in memory: what a request knows of who asks.
///
/// There is one object for each session as long as any request holds it, so that ending the session reaches them all.
public final class LiveSession: Sendable {
  /// Which session it is.
  public let id: SessionID
  /// Whose it is.
  public let user: UserID
  let tokenHash: TokenHash
  private let ended = Atomic(false)
  /// Milliseconds since 1970.
  private let freshUntil = Atomic<Int64>(0)
  /// How much of the limit on requests of one token is used, where there is one.
  private let rate = RateBucket()

  init(id: SessionID, user: UserID, tokenHash: TokenHash) {
    self.id = id
    self.user = user
    self.tokenHash = tokenHash
  }

  /// Whether it has been revoked or has expired. A request that is about to wait looks here once more after it has made
  /// itself known to whoever is told of sessions that end: then none falls in between.
  public var isEnded: Bool { ended.load(ordering: .acquiring) }

  /// Whether whoever has authenticated with a token may take the same token for this session's once more, without asking
  /// the directory: it hasn't ended, and its use was noted less than a minute ago. For connections that send the same token
  /// again and again.
  public func isFresh(at now: Int64) -> Bool {
    !isEnded && now < freshUntil.load(ordering: .relaxed)
  }

  func setFresh(until moment: Int64) { freshUntil.store(moment, ordering: .relaxed) }

  func end() { ended.store(true, ordering: .releasing) }
}

// Kept with the session, so that it's found without a look anywhere, and goes with it: who has been out of memory begins anew.
extension LiveSession: RateLimited {
  package func take(_ limit: RateLimit, at now: Int64) -> RateBucket.Outcome { rate.take(limit, at: now) }
  package func hasAny(_ limit: RateLimit, at now: Int64) -> Bool { rate.hasAny(limit, at: now) }
  package func recovery(at now: Int64) -> Int64 { rate.recovery(at: now) }
}
