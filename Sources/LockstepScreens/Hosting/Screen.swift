import LockstepAccounts
import LockstepCollections
import Synchronization

/// The owner of a screen. Owners share the places for screens.
enum ScreenOwner: Hashable, Sendable {
  case user(UserID)
  case network(ClientNetwork)

  init(_ opening: ScreenOpening) {
    self = opening.session.map { .user($0.user) } ?? .network(opening.network)
  }
}

package final class Screen: Sendable {
  /// The name of the node, if there are others (`ScreenNode`), and 128 random bits in hexadecimal.
  /// Any client that knows this id may use an anonymous screen.
  package let id: String
  package let kind: String
  /// The session that the screen belongs to; `nil` if the screen is anonymous.
  package let session: LiveSession?
  /// The user, or the network of the client that opened an anonymous screen.
  let owner: ScreenOwner
  package let engine: any ScreenEngine
  /// Distinguishes the screen's cursors from those of other screens. The tag reveals nothing about
  /// `id`.
  package let tag: String
  /// When the screen was opened, in nanoseconds of the monotonic clock.
  package let opened: Int64
  private let lastUse: Atomic<Int64>
  private let watchers = Atomic(0)
  private let ended = Atomic(false)

  init(id: String, tag: String, kind: String, _ opening: ScreenOpening, engine: any ScreenEngine, now: Int64) {
    self.id = id
    self.tag = tag
    self.kind = kind
    session = opening.session
    owner = ScreenOwner(opening)
    self.engine = engine
    opened = now
    lastUse = Atomic(now)
  }

  /// The last use, in nanoseconds of the monotonic clock.
  package var lastUsed: Int64 { lastUse.load(ordering: .relaxed) }

  package var isWatched: Bool { watchers.load(ordering: .acquiring) > 0 }

  package func cursor(_ number: UInt64) -> String { "\(tag).\(number)" }

  package var isEnded: Bool { ended.load(ordering: .acquiring) || session?.isEnded ?? false }

  /// The time of the monotonic clock at which the screen ends unless a request comes before.
  var deadline: Int64 {
    watchers.load(ordering: .acquiring) > 0 ? .max : lastUse.load(ordering: .relaxed) + ScreenDirectory.lifetime
  }

  func use(at now: Int64) { lastUse.store(now, ordering: .relaxed) }

  /// Call this when a request begins to wait. The screen does not expire until `endWatching`.
  package func beginWatching() { watchers.add(1, ordering: .acquiringAndReleasing) }

  package func endWatching(at now: Int64) {
    use(at: now)
    watchers.subtract(1, ordering: .acquiringAndReleasing)
  }

  func end() {
    ended.store(true, ordering: .releasing)
    engine.close()
  }
}
