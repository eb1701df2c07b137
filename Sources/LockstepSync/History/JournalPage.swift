import LockstepCollections
import LockstepStore

/// A page of a user's journal as clients get it. It consists of whole transactions, so that the
/// next page can begin after it.
///
/// A page is limited in entries and in bytes, because an entry may be half a megabyte long. A
/// transaction that exceeds the limit gets a page of its own.
package struct JournalPage: Sendable {
  /// The approximate limit of a page in bytes.
  static let bytes = 4 * 1024 * 1024

  package private(set) var entries: [UInt8] = []
  /// The last revision of the page; nil if the page is empty.
  package private(set) var last: Revision?
  package private(set) var isPart: Bool

  /// Reads at most `limit` entries, but at least one transaction, after `start` and up to `end`.
  /// The cursors of the entries contain `store`.
  package init(
    of user: UserID,
    after start: Revision,
    upTo end: Revision = Revision(rawValue: .max),
    limit: Int,
    bytes: Int = JournalPage.bytes,
    from journal: Journal,
    store: String
  ) throws {
    // Reads one more transaction, to see where the last transaction of the page ends.
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

  /// The revisions of whole transactions: at most `limit`, or those of one longer transaction.
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
  /// Appends the entry as clients get it. Its action and its mutations are stored in that form.
  fileprivate func encode(into body: inout [UInt8], store: String) {
    body.append(
      contentsOf: #"{"cursor":"\#(Cursor(store: store, revision: revision).text)","at":"\#(at)","session":"#.utf8
    )
    body.append(contentsOf: (session.map { "\"\($0)\"" } ?? "null").utf8)
    body.append(contentsOf: #","module":"\#(collection.module)","action":"#.utf8)
    body.append(contentsOf: action.utf8)
    body.append(contentsOf: #","mutations":"#.utf8)
    body.append(contentsOf: mutations.utf8)
    let unreadable = [("action", action), ("mutations", mutations)].filter { $0.1 == "null" }.map { "\"\($0.0)\"" }
    if !unreadable.isEmpty { body.append(contentsOf: ",\"unreadable\":[\(unreadable.joined(separator: ","))]".utf8) }
    body.append(UInt8(ascii: "}"))
  }
}
