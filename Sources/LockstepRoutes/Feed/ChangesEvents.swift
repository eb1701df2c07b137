import LockstepAccounts
import LockstepCollections
import LockstepSync

/// The feed as server-sent events. Each event has the changes between the previous event's cursor
/// and its own.
struct ChangesEvents: EventFeed {
  /// Returns the changes after `since`. `sent` is the cursor that the client has. Nothing that the
  /// client follows has changed from `sent` to `since`.
  typealias Changes =
    @Sendable (_ since: Cursor, _ sent: Cursor, CachedState, RegisteredDefaults) throws
    -> EventFeedStep<ChangesFeed.Document>

  let watch: StateWatcher
  let changes: Changes
  /// The cursor of the last document.
  private var cursor: Cursor
  /// The cursor that the client has. From it to `cursor`, nothing has changed for the client. Nil before the first
  /// event.
  private var sent: Cursor?

  /// The first part is the document at `cursor`.
  init(at cursor: Cursor, _ watch: StateWatcher, changes: @escaping Changes) {
    (self.cursor, self.watch, self.changes) = (cursor, watch, changes)
  }

  mutating func events(of document: ChangesFeed.Document) -> [UInt8]? {
    cursor = document.cursor
    // The first one is sent even if it is empty, because the client can resume from its cursor.
    if document.isEmpty, sent != nil { return nil }
    sent = document.cursor
    return EventFormat.event("changes", id: document.cursor.text, document.body)
  }

  mutating func next(isNotified: Bool) throws -> EventFeedStep<ChangesFeed.Document>? {
    let (cursor, sent) = (cursor, sent ?? cursor)
    if let (cached, registered) = watch.cached { return try changes(cursor, sent, cached, registered) }
    guard isNotified else { return nil }
    // The state is not in memory. The registered defaults changed, or the state was evicted.
    return .later { [watch, changes] in
      let (cached, registered) = try await watch.load()
      switch try changes(cursor, sent, cached, registered) {
      case .part(let document): return document
      case .later(let make): return try await make()
      }
    }
  }

  /// Changes of collections that the client does not follow move the cursor too.
  mutating func progress() -> String? {
    guard let last = sent, cursor != last else { return nil }
    // The next event has the keys of the session's own writes since the last one, if there are any.
    guard watch.session.keys(after: last.revision, upTo: cursor.revision)?.isEmpty ?? false else { return nil }
    sent = cursor
    return cursor.text
  }
}
