import LockstepCollections
import LockstepJSON
import LockstepStore

/// A page of a user's journal. It consists of whole transactions, so that the next page can begin
/// after it.
///
/// A page is limited in entries and in bytes, because an entry may be several megabytes long. A
/// transaction that exceeds the limit gets a page of its own. The page is read in slices, and its
/// end is known with the first one.
package struct JournalPage: Sendable {
  /// The approximate limit of a page in bytes.
  static let bytes = 4 * 1024 * 1024
  /// More bytes than an entry has besides its action and its mutations.
  private static let overhead = 256

  package private(set) var first: JournalSlice
  /// The last revision of the page; nil if the page is empty.
  package private(set) var last: Revision?
  package private(set) var isPart: Bool

  /// Reads the first slice of at most `limit` entries, but at least one transaction, after `start`.
  /// The cursors of the entries contain `store`.
  package init(of user: UserID, after start: Revision, limit: Int, from journal: Journal, store: String) throws {
    // Reads one more transaction, to see where the last transaction of the page ends.
    let ahead = try journal.revisions(of: user, after: start, limit: limit + Transaction.maximumActions)
    let revisions: [Revision]
    (revisions, isPart) = Self.wholeTransactions(ahead, limit)
    last = revisions.last
    first = try JournalSlice(of: user, after: start, upTo: last ?? start, from: journal, store: store)
    guard first.hasMore, let end = try Self.end(of: first, revisions, in: journal) else { return }
    isPart = true
    last = end
    // The transaction that does not fit may have begun in the slice.
    if first.last.revision > end {
      first = try JournalSlice(of: user, after: start, upTo: end, from: journal, store: store)
    } else {
      try first.moveEnd(to: end, from: journal)
    }
  }

  /// The revisions of whole transactions: at most `limit`, or those of one longer transaction.
  private static func wholeTransactions(_ ahead: [Revision], _ limit: Int) -> (whole: [Revision], isPart: Bool) {
    guard ahead.count > limit else { return (ahead, false) }
    let cut = ahead[limit]
    let whole = ahead.prefix(limit).filter { $0 != cut }
    return (whole.isEmpty ? [cut] : whole, true)
  }

  /// The last revision that the limit in bytes permits; nil if it permits all.
  private static func end(of first: JournalSlice, _ revisions: [Revision], in journal: Journal) throws -> Revision? {
    var (length, before) = (first.text.count, first.last)
    var end = revisions.last { $0 < first.last.revision }
    for place in try journal.places(of: first.user, after: first.last, upTo: first.end) {
      if place.revision != before.revision { end = before.revision }
      // In a damaged store, the difference can have any size.
      length += min(max(0, place.written - before.written), bytes) + overhead
      before = place
      if length > bytes, let end { return end }
    }
    return nil
  }
}

/// Some entries of a user's journal as clients get them, with commas between them. No transaction
/// of the store is open between two slices.
package struct JournalSlice: Sendable {
  /// A slice ends with the entry that reaches this many bytes.
  package static let bytes = 64 * 1024

  let user: UserID
  private let store: String
  /// The revision up to which slices are read.
  private(set) var end: Revision
  package private(set) var text: [UInt8] = []
  /// The place of the last entry.
  fileprivate private(set) var last: Journal.Place
  /// Whether there are entries after this slice, up to `end`.
  package private(set) var hasMore = false

  /// Reads entries after the revision `start`, up to and including `end`.
  package init(
    of user: UserID,
    after start: Revision,
    upTo end: Revision,
    from journal: Journal,
    store: String
  ) throws {
    (self.user, self.store, self.end, last) = (user, store, end, Journal.Place(endOf: start))
    try read(from: journal)
  }

  /// Takes the text out of the slice, which then has only its place.
  package mutating func takeText() -> [UInt8] {
    defer { text = [] }
    return text
  }

  /// Reads the entries that follow this slice. Throws `PrunedError` if they may be missing.
  package func next(from journal: Journal) throws -> JournalSlice {
    // History is pruned from its beginning. So if the last entry still exists, all later entries do
    // too.
    guard try journal.knows(last.revision, of: user) else { throw PrunedError() }
    var next = self
    next.text = []
    next.hasMore = false
    try next.read(from: journal)
    return next
  }

  /// Moves the end to a revision at or after the last entry.
  fileprivate mutating func moveEnd(to end: Revision, from journal: Journal) throws {
    self.end = end
    hasMore = try journal.hasEntries(of: user, after: last, upTo: end)
  }

  private mutating func read(from journal: Journal) throws {
    try journal.forEachEntry(of: user, after: last, upTo: end) { entry in
      if !text.isEmpty { text.append(UInt8(ascii: ",")) }
      entry.encode(into: &text, store: store)
      last = entry.place
      return text.count < Self.bytes
    }
    if text.count >= Self.bytes { hasMore = try journal.hasEntries(of: user, after: last, upTo: end) }
  }

  /// Entries were pruned before they were read, or their user was erased.
  package struct PrunedError: Error {
    package init() {}
  }
}

extension JournalEntry {
  /// Appends the entry as clients get it. Its action and its mutations are stored in that form. With
  /// an `owner`, the entry shows the user, and the device if that has a name.
  func encode(into body: inout [UInt8], store: String, _ owner: (user: UserID, device: String?)? = nil) {
    body.append(contentsOf: "{".utf8)
    if let owner { body.append(contentsOf: #""user":"\#(owner.user)","#.utf8) }
    body.append(
      contentsOf: #""cursor":"\#(Cursor(store: store, revision: revision).text)","at":"\#(at)","session":"#.utf8
    )
    body.append(contentsOf: (session.map { "\"\($0)\"" } ?? "null").utf8)
    if let device = owner?.device { body.append(contentsOf: #","device":"#.utf8 + JSON.string(device).encoded()) }
    if let agent { body.append(contentsOf: #","by":"#.utf8 + JSON.string(agent).encoded()) }
    body.append(contentsOf: #","module":"\#(collection.module)","action":"#.utf8)
    body.append(contentsOf: action.utf8)
    body.append(contentsOf: #","mutations":"#.utf8)
    body.append(contentsOf: mutations.utf8)
    let unreadable = [("action", action), ("mutations", mutations)].filter { $0.1 == "null" }.map { "\"\($0.0)\"" }
    if !unreadable.isEmpty { body.append(contentsOf: ",\"unreadable\":[\(unreadable.joined(separator: ","))]".utf8) }
    body.append(UInt8(ascii: "}"))
  }
}
