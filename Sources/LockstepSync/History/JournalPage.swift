import LockstepCollections
import LockstepJSON
import LockstepStore

/// A part of a user's journal as clients see it: whole transactions, or it couldn't be gone on from.
///
/// It's bounded in entries and in bytes, since an entry may have half a megabyte. Only a transaction that alone is longer
/// than a page is a page of its own.
package struct JournalPage: Sendable {
  /// About how many bytes a page has, at most.
  static let bytes = 4 * 1024 * 1024

  /// The entries, with commas in between.
  package private(set) var entries: [UInt8] = []
  /// The last revision that is in it; nil where there was none to come.
  package private(set) var last: Revision?
  /// Whether there is more behind it.
  package private(set) var isPart: Bool

  /// - Parameters:
  ///   - user: Whose journal it is.
  ///   - start: The page begins behind this revision.
  ///   - end: It ends with this one at the latest.
  ///   - limit: How many entries it has at most.
  ///   - bytes: How long it may be.
  ///   - journal: Where to read.
  ///   - store: Which store the cursors are of.
  /// - Throws: What SQLite throws.
  package init(
    of user: UserID,
    after start: Revision,
    upTo end: Revision = Revision(rawValue: .max),
    limit: Int,
    bytes: Int = JournalPage.bytes,
    from journal: Journal,
    store: String
  ) throws {
    // As many more as a transaction has at most, to see where the last one ends.
    let ahead = try journal.revisions(of: user, after: start, limit: limit + Transaction.maximumActions).prefix {
      $0 <= end
    }
    let revisions: [Revision]
    (revisions, isPart) = Self.wholeTransactions(ahead, limit)
    for revision in revisions where revision != last {
      let length = entries.count
      for entry in try journal.entries(of: user, after: last ?? start, upTo: revision) {
        if !entries.isEmpty { entries.append(UInt8(ascii: ",")) }
        entry.encode(into: &entries, store: store)
      }
      if entries.count > bytes, last != nil {
        entries.removeSubrange(length...)
        isPart = true
        return
      }
      last = revision
    }
  }

  /// The first revisions, about `limit` of them, with which a page can end.
  private static func wholeTransactions(_ ahead: ArraySlice<Revision>, _ limit: Int) -> (
    whole: [Revision], isPart: Bool
  ) {
    guard ahead.count > limit else { return (Array(ahead), false) }
    let cut = ahead[limit]
    let whole = ahead.prefix(limit).filter { $0 != cut }
    return (whole.isEmpty ? [cut] : whole, true)
  }
}

extension JournalEntry {
  /// Appends the entry as clients see it. What was asked for and what did happen are kept as they are told.
  fileprivate func encode(into body: inout [UInt8], store: String) {
    body.append(
      contentsOf: #"{"cursor":"\#(Cursor(store: store, revision: revision).text)","at":"\#(at)","session":"#.utf8
    )
    body.append(contentsOf: (session.map { "\"\($0)\"" } ?? "null").utf8)
    body.append(contentsOf: #","module":"\#(collection.module)","action":"#.utf8)
    body.append(contentsOf: action.utf8)
    body.append(contentsOf: #","mutations":"#.utf8)
    body.append(contentsOf: mutations.utf8)
    body.append(UInt8(ascii: "}"))
  }
}
