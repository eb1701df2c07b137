import LockstepAccounts
import Synchronization

/// A screen that somebody has opened.
package final class Screen: Sendable {
  /// What lets one in: 128 random bits, in hexadecimal.
  package let id: String
  package let kind: String
  /// Whose it is; nil: whoever knows its id.
  package let session: LiveSession?
  package let engine: any ScreenEngine
  /// Tells its cursors from those of other screens, and tells nothing of its id.
  private let tag: String
  private let lastUse: Atomic<Int64>
  private let watchers = Atomic(0)
  private let ended = Atomic(false)

  init(id: String, tag: String, kind: String, session: LiveSession?, engine: any ScreenEngine, now: Int64) {
    self.id = id
    self.tag = tag
    self.kind = kind
    self.session = session
    self.engine = engine
    lastUse = Atomic(now)
  }

  /// The cursor of its state of that number.
  package func cursor(_ number: UInt64) -> String { "\(tag).\(number)" }

  /// Whether it has ended.
  package var isEnded: Bool { ended.load(ordering: .acquiring) || session?.isEnded ?? false }

  /// When it ends, by the monotonic clock, unless somebody asks before.
  var deadline: Int64 {
    watchers.load(ordering: .acquiring) > 0 ? .max : lastUse.load(ordering: .relaxed) + ScreenDirectory.lifetime
  }

  func use(at now: Int64) { lastUse.store(now, ordering: .relaxed) }

  /// From now on a request waits for it, and it doesn't end by itself.
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
