import LockstepCollections
import LockstepStore
import Synchronization

/// A session in memory, which authenticated requests hold.
///
/// All requests of a session share one object, so that ending the session reaches them all.
public final class LiveSession: Sendable {
  /// The session's id.
  public let id: SessionID
  /// The session's user.
  public let user: UserID
  let tokenHash: TokenHash
  private let ended = Atomic(false)
  /// Milliseconds since 1970.
  private let freshUntil = Atomic<Int64>(0)
  /// For the rate limit of each token. A session that was evicted from memory starts with a whole burst.
  package let rate = RateBucket()

  init(id: SessionID, user: UserID, tokenHash: TokenHash) {
    self.id = id
    self.user = user
    self.tokenHash = tokenHash
  }

  /// Whether the session was revoked or has expired. A request that waits must check this again
  /// after it has registered its waiter. Otherwise it could miss the end.
  public var isEnded: Bool { ended.load(ordering: .acquiring) }

  /// Whether a connection that sends the same token again may skip the directory. It may if the
  /// session has not ended and its use was recorded less than a minute ago.
  public func isFresh(at now: Int64) -> Bool {
    !isEnded && now < freshUntil.load(ordering: .relaxed)
  }

  func setFresh(until moment: Int64) { freshUntil.store(moment, ordering: .relaxed) }

  func end() { ended.store(true, ordering: .releasing) }
}
