import LockstepStore

/// A bounded number of sessions, found by their tokens' hashes: those used most lately stay, at least half as many as
/// there is room for, and beyond that only those that a request still holds.
///
/// Two halves: what is added, or found in the old one, goes to the young one; when that is full, the old one is forgotten
/// and the young one takes its place. So finding one that is used all the time moves nothing.
struct SessionTable: Sendable {
  private let half: Int
  private var young: [TokenHash: SessionEntry] = [:]
  private var old: [TokenHash: SessionEntry] = [:]
  private var notesOfForgotten: [SessionUsage] = []

  init(capacity: Int) {
    half = max(1, capacity / 2)
  }

  var count: Int { young.count + old.count }

  /// Lends the entry to `body`, and keeps it among the lately used; nil without one.
  mutating func use<Result>(_ hash: TokenHash, _ body: (inout SessionEntry) -> Result) -> Result? {
    if let index = young.index(forKey: hash) { return body(&young.values[index]) }
    guard var entry = old.removeValue(forKey: hash) else { return nil }
    let result = body(&entry)
    insert(entry)
    return result
  }

  /// The entry, which doesn't count as use.
  func peek(_ hash: TokenHash) -> SessionEntry? { young[hash] ?? old[hash] }

  /// Adds an entry, for which others may have to go.
  mutating func insert(_ entry: SessionEntry) {
    if young.count >= half { forgetOld() }
    young[entry.live.tokenHash] = entry
  }

  mutating func remove(_ hash: TokenHash) -> SessionEntry? {
    young.removeValue(forKey: hash) ?? old.removeValue(forKey: hash)
  }

  /// What was to be written of those that had to go, once.
  mutating func takeNotesOfForgotten() -> [SessionUsage] {
    // As a rule there are none, and this is asked at every use.
    if notesOfForgotten.isEmpty { return [] }
    defer { notesOfForgotten = [] }
    return notesOfForgotten
  }

  /// What is to be written of all those that are there, once.
  mutating func takeNotes() -> [SessionUsage] { Self.takeNotes(&young) + Self.takeNotes(&old) }

  /// A session that a request holds stays: it must be found when it ends.
  private mutating func forgetOld() {
    var kept: [TokenHash: SessionEntry] = [:]
    Self.forEach(&old) { entry in
      if entry.isHeld { kept[entry.live.tokenHash] = entry }
    }
    for hash in kept.keys { old[hash] = nil }
    notesOfForgotten += Self.takeNotes(&old)
    old = young
    young = kept
  }

  private static func takeNotes(_ entries: inout [TokenHash: SessionEntry]) -> [SessionUsage] {
    var notes: [SessionUsage] = []
    forEach(&entries) { entry in
      if entry.isUnwritten { notes.append(entry.written()) }
    }
    return notes
  }

  /// Lends each entry where it is. The dictionary's `indices` would hold a copy of it, and with it every session.
  private static func forEach(
    _ entries: inout [TokenHash: SessionEntry],
    _ body: (inout SessionEntry) -> Void
  ) {
    var index = entries.startIndex
    while index != entries.endIndex {
      body(&entries.values[index])
      entries.formIndex(after: &index)
    }
  }
}
