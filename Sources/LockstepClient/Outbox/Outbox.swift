import LockstepJSON
import LockstepTime

/// The writes that the copy does not include yet, in the order of the app's calls, and the refused ones.
///
/// Sending a write costs the same for a short and for a long outbox.
struct Outbox: Sendable {
  /// The writes in the order of their numbers: the confirmed ones, which the copy does not include, then those
  /// that wait. `slots[..<head]` were removed.
  private var slots: [OutboxEntry] = []
  private var head = 0
  /// The first write that waits.
  private var firstWaiting = 0
  /// How many writes that wait have a condition.
  private var conditions = 0
  /// The writes that the server has refused, in order. They are neither sent nor shown.
  private(set) var refused: [OutboxEntry] = [] {
    didSet { refusals += 1 }
  }
  /// Counts the changes of `refused`.
  private(set) var refusals = 0
  private var last: Int64 = 0

  /// All writes except the refused ones, in order.
  var entries: ArraySlice<OutboxEntry> { slots[head...] }

  /// The next write to send.
  var next: OutboxEntry? { slots.indices.contains(firstWaiting) ? slots[firstWaiting] : nil }

  /// How many writes are to be sent.
  var waiting: Int { slots.count - firstWaiting }

  /// The confirmed writes that the copy may not include, in order.
  var confirmed: ArraySlice<OutboxEntry> { slots[head..<firstWaiting] }

  /// The entries after a number, in order.
  func entries(after number: Int64) -> ArraySlice<OutboxEntry> { slots[firstIndex(from: number + 1)...] }

  subscript(number: Int64) -> OutboxEntry? {
    index(of: number).map { slots[$0] } ?? refusedIndex(of: number).map { refused[$0] }
  }

  // MARK: - Changes

  /// The number of the next write.
  var nextNumber: Int64 { last + 1 }

  /// A new write with its number. It becomes a part of the outbox with `put`.
  func entry(_ actions: [ClientAction], key: String, at now: Timestamp) -> OutboxEntry {
    OutboxEntry(number: nextNumber, key: key, at: now, actions: actions)
  }

  /// Adds a write, or replaces the one with its number.
  mutating func put(_ entry: OutboxEntry) {
    if let index = index(of: entry.number), entry.refusal == nil {
      count(slots[index], -1)
      slots[index] = entry
    } else {
      remove(entry.number)
      last = max(last, entry.number)
      if entry.refusal != nil {
        return refused.insert(entry, at: Self.firstIndex(from: entry.number, in: refused[...]))
      }
      let index = firstIndex(from: entry.number)
      slots.insert(entry, at: index)
      if index < firstWaiting { firstWaiting = entry.isWaiting ? index : firstWaiting + 1 }
    }
    count(entry, 1)
    skipConfirmed()
  }

  mutating func remove(_ number: Int64) {
    guard let index = index(of: number) else {
      if let index = refusedIndex(of: number) { refused.remove(at: index) }
      return
    }
    count(slots[index], -1)
    if index == head {
      head += 1
      firstWaiting = max(firstWaiting, head)
      if head > 1_024, head * 2 > slots.count {
        slots.removeFirst(head)
        (firstWaiting, head) = (firstWaiting - head, 0)
      }
    } else {
      slots.remove(at: index)
      if index < firstWaiting { firstWaiting -= 1 }
    }
    skipConfirmed()
  }

  private mutating func count(_ entry: OutboxEntry, _ number: Int) {
    if entry.isWaiting, entry.base != nil { conditions += number }
  }

  private mutating func skipConfirmed() {
    while firstWaiting < slots.count, !slots[firstWaiting].isWaiting { firstWaiting += 1 }
  }

  /// Takes over what other processes have changed.
  mutating func take(_ contents: StoreContents) {
    let gone = (slots[head...] + refused).filter { !contents.numbers.contains($0.number) }
    for entry in gone { remove(entry.number) }
    for entry in contents.entries { put(entry) }
    last = max(last, contents.lastNumber)
  }

  // MARK: - Responses

  /// The changes after a response of the feed was applied to the copy: nil for the writes that the copy
  /// includes now.
  func changes(after document: ChangesDocument, including known: Set<Int64>) -> [Int64: OutboxEntry?] {
    var changes: [Int64: OutboxEntry?] = [:]
    // A write that was not sent cannot be in the copy.
    for var entry in entries.prefix(while: { $0.sentAt != nil || !$0.isWaiting }) {
      // After a reset, a confirmed write is in the copy, or was lost with the history.
      let isIncluded =
        document.keys.contains(entry.key.exact) || known.contains(entry.number)
        || (document.isReset ? !entry.isWaiting : entry.isIncluded)
      if let confirmed = entry.confirmed, isIncluded || confirmed.revision <= document.position.revision {
        changes[entry.number] = .some(nil)
      } else if isIncluded != entry.isIncluded {
        entry.isIncluded = isIncluded
        changes[entry.number] = entry
      }
    }
    return changes
  }

  /// The changes after the response to a write: nil if the copy at `copy` includes it. The bases of later writes move
  /// to `position` where `advances` allows it. `hasChanged` says whether the write has changed the server's state.
  func changes(
    confirming number: Int64,
    at position: ChangesDocument.Position,
    hasChanged: Bool,
    copy: ChangesDocument.Position?
  ) -> [Int64: OutboxEntry?] {
    guard let index = index(of: number) else { return [:] }
    var entry = slots[index]
    (entry.confirmed, entry.hasChangedNothing) = (position, !hasChanged)
    let isIncluded = entry.isIncluded || position.revision <= copy?.revision ?? -1
    var changes: [Int64: OutboxEntry?] = [number: isIncluded ? nil : entry]
    if conditions == 0 { return changes }
    for var later in slots[index...].dropFirst() {
      guard let base = later.base, Self.advances(base, entry, for: later.actions) else { continue }
      later.base = position
      changes[later.number] = later
    }
    return changes
  }

  mutating func apply(_ changes: [Int64: OutboxEntry?]) {
    for (number, entry) in changes.sorted(by: { $0.key < $1.key }) {
      if let entry { put(entry) } else { remove(number) }
    }
  }

  // MARK: - Conditions

  /// The base of a write that has a condition or may get one: the position of the copy, or that of a confirmed write
  /// which the copy does not include yet.
  func base(for actions: [ClientAction], at position: ChangesDocument.Position) -> ChangesDocument.Position {
    confirmed.reduce(position) { base, entry in
      guard let confirmed = entry.confirmed, Self.advances(base, entry, for: actions) else { return base }
      return confirmed
    }
  }

  /// Whether a condition on `base` may move on to the position of a confirmed write. It may if this write is the only
  /// change in between, or if the write had a condition on the same elements, keys or objects. A condition on a later
  /// base, such as that of a merged write, says nothing about the changes before that base.
  private static func advances(
    _ base: ChangesDocument.Position,
    _ confirmed: OutboxEntry,
    for actions: [ClientAction]
  ) -> Bool {
    guard let position = confirmed.confirmed, !confirmed.hasChangedNothing else { return false }
    if position.revision == base.revision + 1 { return true }
    guard let own = confirmed.base, own.revision <= base.revision else { return false }
    return actions.allSatisfy { action in
      confirmed.actions.contains { other in
        other.collection == action.collection && (other.subject ?? action.subject)?.exact == action.subject?.exact
      }
    }
  }

  // MARK: - Searching

  private func index(of number: Int64) -> Int? {
    let index = firstIndex(from: number)
    return index < slots.count && slots[index].number == number ? index : nil
  }

  private func refusedIndex(of number: Int64) -> Int? {
    let index = Self.firstIndex(from: number, in: refused[...])
    return index < refused.count && refused[index].number == number ? index : nil
  }

  private func firstIndex(from number: Int64) -> Int { Self.firstIndex(from: number, in: slots[head...]) }

  /// The first index with this number or a higher one, in entries that are in order.
  private static func firstIndex(from number: Int64, in entries: ArraySlice<OutboxEntry>) -> Int {
    var (low, high) = (entries.startIndex, entries.endIndex)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
