import LockstepStore
import LockstepTime

/// A session in memory, and what is known of its use. Times are in milliseconds since 1970.
struct SessionEntry: Sendable {
  /// How long a use goes unnoted: it's noted, and written, so often at most.
  static let noteInterval: Int64 = 60_000

  private var session: LiveSession
  private(set) var lastSeenAt: Int64
  private(set) var expiresAt: Int64
  private(set) var cursor: String?
  /// Whether the store doesn't know the cursor yet.
  private(set) var isUnwritten = false

  init(_ stored: StoredSession) {
    session = LiveSession(id: stored.session.id, user: stored.user, tokenHash: stored.tokenHash)
    lastSeenAt = stored.session.lastSeenAt.millisecondsSince1970
    expiresAt = stored.session.expiresAt.millisecondsSince1970
    cursor = stored.session.cursor
    session.setFresh(until: min(lastSeenAt + Self.noteInterval, expiresAt))
  }

  var live: LiveSession { session }

  /// Whether anybody else holds the session.
  var isHeld: Bool {
    mutating get { !isKnownUniquelyReferenced(&session) }
  }

  /// Notes a use, once a minute at most, and then returns what is to be written.
  mutating func use(at now: Int64, lifetime: Int64) -> SessionUsage? {
    guard now - lastSeenAt >= Self.noteInterval else { return nil }
    lastSeenAt = now
    expiresAt = now + lifetime
    session.setFresh(until: now + Self.noteInterval)
    return written()
  }

  /// Remembers a cursor, which is written together with the next use.
  mutating func ask(from cursor: String) {
    guard self.cursor != cursor else { return }
    self.cursor = cursor
    isUnwritten = true
  }

  /// What is to be written, which then counts as written.
  mutating func written() -> SessionUsage {
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
