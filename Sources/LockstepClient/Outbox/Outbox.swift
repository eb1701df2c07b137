import LockstepTime

/// The writes that the copy does not include yet, in the order of the app's calls.
struct Outbox: Sendable {
  /// For how long the server recognises a repeated request.
  static let keyLifetime = Duration.seconds(24 * 3600)

  private(set) var entries: [OutboxEntry] = []
  private var last: Int64 = 0

  init() {}

  /// A stored outbox.
  init(_ stored: [OutboxEntry]) {
    entries = stored.sorted { $0.number < $1.number }
    last = entries.last?.number ?? 0
  }

  subscript(number: Int64) -> OutboxEntry? { index(of: number).map { entries[$0] } }

  /// The next write to send.
  var next: OutboxEntry? { entries.first(where: \.isWaiting) }

  var waiting: Int { entries.count(where: \.isWaiting) }

  /// Adds a write, and returns it with its number.
  mutating func add(_ actions: [ClientAction], key: String, at now: Timestamp) -> OutboxEntry {
    last += 1
    let entry = OutboxEntry(number: last, key: key, at: now, actions: actions)
    entries.append(entry)
    return entry
  }

  mutating func change(_ number: Int64, _ body: (inout OutboxEntry) -> Void) {
    if let index = index(of: number) { body(&entries[index]) }
  }

  mutating func remove(_ number: Int64) {
    if let index = index(of: number) { entries.remove(at: index) }
  }

  mutating func removeAll() { entries = [] }

  /// Notes that a response of the feed was applied to the copy. Returns the numbers of the writes that the
  /// copy includes now, which are removed, and of those that are changed.
  mutating func noteCopy(of document: ChangesDocument) -> (removed: [Int64], changed: [Int64]) {
    var changed: [Int64] = []
    for index in entries.indices {
      let entry = entries[index]
      // After a reset, a confirmed write is in the copy, or was lost with the history.
      let isIncluded =
        document.keys.contains(entry.key) || (document.isReset ? !entry.isWaiting : entry.isIncluded)
      if isIncluded == entry.isIncluded { continue }
      entries[index].isIncluded = isIncluded
      changed.append(entry.number)
    }
    let removed = dropIncluded(at: document.position)
    return (removed, changed.filter { !removed.contains($0) })
  }

  /// Removes the confirmed writes that the copy at a position includes. Returns their numbers.
  mutating func dropIncluded(at position: ChangesDocument.Position?) -> [Int64] {
    let revision = position?.revision ?? -1
    let removed = entries.filter { entry in
      guard entry.refusal == nil, let confirmed = entry.confirmed else { return false }
      return entry.isIncluded || confirmed.revision <= revision
    }
    if removed.isEmpty { return [] }
    let numbers = Set(removed.map(\.number))
    entries.removeAll { numbers.contains($0.number) }
    return removed.map(\.number)
  }

  /// Notes the response to a write. Later writes that are based on a state that this write has changed are
  /// now based on its result.
  mutating func confirm(_ number: Int64, at position: ChangesDocument.Position) -> [Int64] {
    guard let index = index(of: number) else { return [] }
    entries[index].confirmed = position
    let confirmed = entries[index]
    var changed = [number]
    for later in entries.indices where entries[later].isWaiting {
      guard let base = entries[later].base, Self.advances(base, confirmed, for: entries[later]) else { continue }
      entries[later].base = position
      changed.append(entries[later].number)
    }
    return changed
  }

  /// The position on which a new conditional write is based: that of the copy, or that of a confirmed write
  /// which the copy does not include yet.
  func base(for actions: [ClientAction], at position: ChangesDocument.Position) -> ChangesDocument.Position {
    let new = OutboxEntry(number: .max, key: "", at: Timestamp(millisecondsSince1970: 0), actions: actions)
    return entries.reduce(position) { base, entry in
      guard let confirmed = entry.confirmed, Self.advances(base, entry, for: new) else { return base }
      return confirmed
    }
  }

  /// Whether a condition on `base` may move on to the position of a confirmed write: nothing else happened in
  /// between, or the confirmed write had a condition on the same things.
  private static func advances(
    _ base: ChangesDocument.Position,
    _ confirmed: OutboxEntry,
    for later: OutboxEntry
  ) -> Bool {
    guard let position = confirmed.confirmed else { return false }
    if position.revision == base.revision + 1 { return true }
    guard confirmed.base != nil else { return false }
    return later.actions.allSatisfy { action in
      confirmed.actions.contains { other in
        other.collection == action.collection && (other.subject ?? action.subject) == action.subject
      }
    }
  }

  private func index(of number: Int64) -> Int? {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].number == number ? low : nil
  }
}
