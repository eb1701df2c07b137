import LockstepRoutes
import LockstepStore
import LockstepSync

/// The journal of all users as server-sent events, one for each entry. A slow client gets all
/// entries, because they are read from the store when the client has taken the ones before.
struct JournalEvents: EventFeed {
  let watcher: CommitWatcher
  let store: String
  let read: @Sendable (StoreJournal.Place) async throws -> StoreJournalPage
  /// Whether the client must first learn that the journal begins again.
  var isReset: Bool
  private var end = StoreJournal.Place.beginning
  /// The place that the client has.
  private var sent: StoreJournal.Place?
  /// Whether the journal has entries after `end`.
  private var hasMore = false

  init(
    isReset: Bool,
    _ watcher: CommitWatcher,
    store: String,
    read: @escaping @Sendable (StoreJournal.Place) async throws -> StoreJournalPage
  ) {
    (self.isReset, self.watcher, self.store, self.read) = (isReset, watcher, store, read)
  }

  mutating func events(of page: StoreJournalPage) -> [UInt8]? {
    (end, hasMore) = (page.end, page.isPart)
    var bytes: [UInt8] = []
    if isReset {
      isReset = false
      let beginning = StoreJournal.Place.beginning.text(in: store)
      bytes += EventFormat.event("reset", id: beginning, Array(#"{"cursor":"\#(beginning)"}"#.utf8))
    }
    for entry in page.entries {
      bytes += EventFormat.event("entry", id: entry.place.text(in: store), entry.text)
      sent = entry.place
    }
    return bytes.isEmpty ? nil : bytes
  }

  mutating func next(isNotified: Bool) throws -> EventFeedStep<StoreJournalPage>? {
    guard hasMore || watcher.take() else { return nil }
    hasMore = false
    return .later { [read, end] in try await read(end) }
  }

  /// Without new entries, the client gets the cursor of now.
  mutating func progress() -> String? {
    if sent == end { return nil }
    sent = end
    return end.text(in: store)
  }
}
