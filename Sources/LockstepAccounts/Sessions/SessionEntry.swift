import LockstepStore
import LockstepTime

/// A session in memory with its use. Times are in milliseconds since 1970.
struct SessionEntry: Sendable {
  /// The shortest time between two recorded uses.
  static let recordInterval: Int64 = 60_000

  private var session: LiveSession
  private(set) var lastSeenAt: Int64
  private(set) var expiresAt: Int64
  private(set) var cursor: String?
  /// Whether the cursor is not in the store yet.
  private(set) var isUnwritten = false

  init(_ stored: StoredSession) {
    session = LiveSession(id: stored.session.id, user: stored.user, tokenHash: stored.tokenHash)
    lastSeenAt = stored.session.lastSeenAt.millisecondsSince1970
    expiresAt = stored.session.expiresAt.millisecondsSince1970
    cursor = stored.session.cursor
    session.setFresh(until: min(lastSeenAt + Self.recordInterval, expiresAt))
  }

  var live: LiveSession { session }

  /// Whether a request holds the session.
  var isHeld: Bool {
    mutating get { !isKnownUniquelyReferenced(&session) }
  }

  /// Records a use at most once a minute, and then returns it for the store.
  mutating func use(at now: Int64, lifetime: Int64) -> SessionUsage? {
    guard now - lastSeenAt >= Self.recordInterval else { return nil }
    lastSeenAt = now
    expiresAt = now + lifetime
    session.setFresh(until: now + Self.recordInterval)
    return takeUsage()
  }

  /// Records the cursor of a request; it is written with the next use.
  mutating func setCursor(_ cursor: String) {
    guard self.cursor != cursor else { return }
    self.cursor = cursor
    isUnwritten = true
  }

  /// The use for the store; the cursor then counts as written.
  mutating func takeUsage() -> SessionUsage {
    isUnwritten = false
    return SessionUsage(
      id: session.id,
      user: session.user,
      lastSeenAt: Timestamp(millisecondsSince1970: lastSeenAt),
      expiresAt: Timestamp(millisecondsSince1970: expiresAt),
      cursor: cursor
    )
  }
}
