import LockstepCollections
import LockstepStore

/// The idempotency keys of a session's latest writes, in memory. Older ones are only in the store.
package struct SessionKeys: Sendable {
  /// A client usually sends a few writes before it asks the feed again.
  private static let most = 8

  /// In order.
  private var latest: [SessionKey] = []
  /// All keys of later revisions are in `latest`. Nil: unknown.
  private var completeAfter: Revision?

  package init() {}

  /// The keys of the writes from after one revision up to another. Nil if only the store has all of
  /// them.
  package func keys(after start: Revision, upTo end: Revision) -> [String]? {
    guard let completeAfter, completeAfter <= start else { return nil }
    return latest.filter { start < $0.revision && $0.revision <= end }.map(\.key)
  }

  /// Notes the key of a write before its state is published.
  mutating func add(_ key: SessionKey) {
    if completeAfter == nil { completeAfter = Revision(rawValue: key.revision.rawValue - 1) }
    latest.append(key)
    guard latest.count > Self.most else { return }
    completeAfter = latest.removeFirst().revision
  }

  /// Notes that the store was read for keys when the user's state was at this revision. From then on,
  /// each later key is noted here.
  mutating func beginAfter(_ revision: Revision) {
    if completeAfter == nil { completeAfter = revision }
  }
}
