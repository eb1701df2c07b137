import LockstepCollections
import LockstepStore

/// A page of the journal of all users.
package struct StoreJournalPage: Sendable {
  /// The entries that a page may have.
  package struct Filter: Sendable {
    package var user: UserID?
    /// The name of a module or of one collection.
    package var collection: CollectionName?

    package init(user: UserID? = nil, collection: CollectionName? = nil) {
      (self.user, self.collection) = (user, collection)
    }

    fileprivate func takes(_ name: CollectionName) -> Bool {
      collection.map { $0 == name || $0 == CollectionName(name.module) } ?? true
    }
  }

  /// An entry as clients get it.
  package struct Entry: Sendable {
    package let place: StoreJournal.Place
    package let text: [UInt8]
  }

  /// A page ends with the entry that reaches this many bytes.
  private static let bytes = 1024 * 1024
  /// How many entries are read for a page, of which the filter may take few.
  private static let scanned = 10_000
  /// How many entries one statement reads.
  private static let slice = 100

  package private(set) var entries: [Entry] = []
  /// The place after the last entry that was read.
  package private(set) var end: StoreJournal.Place
  /// Whether the page ends before the end of the journal.
  package private(set) var isPart = false
  /// Whether entries follow that do not count yet.
  package private(set) var hasHiddenEntries = false

  /// Reads at most `limit` entries after a place. The cursors of the entries contain `store`.
  package init(
    after place: StoreJournal.Place,
    limit: Int,
    _ filter: Filter,
    from journal: StoreJournal,
    store: String
  ) throws {
    end = place
    var (bytes, scanned) = (0, 0)
    var hasMore = true
    while hasMore, !isPart {
      var count = 0
      try journal.forEach(after: end, of: filter.user, limit: Self.slice) { read in
        guard entries.count < limit, bytes < Self.bytes, scanned < Self.scanned else {
          isPart = true
          return false
        }
        (count, scanned, end) = (count + 1, scanned + 1, read.place)
        guard filter.takes(read.entry.collection) else { return true }
        var text: [UInt8] = []
        read.entry.encode(into: &text, store: store, (read.user, read.device))
        bytes += text.count
        entries.append(Entry(place: read.place, text: text))
        return true
      }
      hasMore = count == Self.slice
    }
    // Entries of other users may follow the last one that was read.
    if !isPart {
      end = try journal.end()
      hasHiddenEntries = try journal.hasHiddenEntries()
    }
  }
}

extension StoreJournal.Place {
  /// The place as a cursor of this store: `<store>.j<number>.<revision>`.
  package func text(in store: String) -> String { "\(store).j\(number).\(revision)" }

  /// Reads a cursor. Nil if it has another form. `isOfStore` is false for a cursor of another store.
  package static func read(_ text: String, store: String) -> (place: StoreJournal.Place, isOfStore: Bool)? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[0].utf8.allSatisfy(\.isWordCharacter), parts[1].first == "j",
      parts[1].utf8.dropFirst().allSatisfy({ UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }),
      let number = Int(parts[1].dropFirst()), let revision = Revision(String(parts[2]))
    else { return nil }
    return (StoreJournal.Place(number: number, revision: revision), parts[0] == store)
  }
}
