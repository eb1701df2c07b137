import LockstepJSON

/// A few neighboring elements of a collection, in one JSON text.
///
/// A list's text consists of the elements, and a map's text of members such as `"key":1`. Commas
/// separate them, so the text of a collection is the text of its leaves. A leaf never changes, so
/// the versions of a collection can share it.
final class PackedLeaf: Sendable {
  /// More elements are split into two leaves.
  static let maximumCount = 32
  /// A longer text of several elements is split into two leaves once. A part may still be longer.
  static let maximumLength = 8 * 1024
  /// A leaf with fewer elements is merged with a neighbor if that does not make it too large.
  static let minimumCount = 8

  struct Entry: Sendable {
    let revision: Revision
    /// Where the element ends in the text of the leaf.
    let end: UInt32
    /// Where the value of a map's member begins in the text of the member; 0 in a list.
    let valueStart: UInt32
  }

  let text: [UInt8]
  let entries: [Entry]
  /// The names of all elements; nil if each name is in its element's text as it is: after `"` in a
  /// map, and after `{"id":"` in a list. Otherwise the text has it at another place or escaped.
  let names: [ElementKey]?
  /// Increases along a list, so that its leaves can be found by it. 0 in a map.
  let label: UInt64
  /// The size of the elements, as quotas count it: without the quotes and colons of a map.
  let bytes: Int

  init(text: [UInt8], entries: [Entry], names: [ElementKey]?, label: UInt64, bytes: Int) {
    self.text = text
    self.entries = entries
    self.names = names
    self.label = label
    self.bytes = bytes
  }

  var count: Int { entries.count }

  /// The memory in bytes, with what `malloc` adds.
  var memory: Int {
    let fixed = 160 + text.count + entries.count * MemoryLayout<Entry>.stride
    guard let names else { return fixed }
    return names.reduce(fixed + 40) { $0 + 16 + ($1.text.utf8.count > 15 ? $1.text.utf8.count + 48 : 0) }
  }

  func labelled(_ label: UInt64) -> PackedLeaf {
    PackedLeaf(text: text, entries: entries, names: names, label: label, bytes: bytes)
  }

  // MARK: Elements

  /// Where an element's text is.
  func range(at offset: Int) -> Range<Int> {
    (offset == 0 ? 0 : Int(entries[offset - 1].end) + 1)..<Int(entries[offset].end)
  }

  /// Where an element's value is: in a list the whole element.
  func valueRange(at offset: Int) -> Range<Int> {
    let range = range(at: offset)
    return (range.lowerBound + Int(entries[offset].valueStart))..<range.upperBound
  }

  func name(at offset: Int) -> ElementKey {
    if let names { return names[offset] }
    return ElementKey(String(decoding: text[nameRange(at: offset)], as: UTF8.self))
  }

  /// Where the name is in the text. Only for a leaf without `names`.
  private func nameRange(at offset: Int) -> Range<Int> {
    let range = range(at: offset)
    let valueStart = Int(entries[offset].valueStart)
    if valueStart > 0 { return (range.lowerBound + 1)..<(range.lowerBound + valueStart - 2) }
    let start = range.lowerBound + PackedElement.itemPrefix.count
    var end = start
    while text[end] != UInt8(ascii: "\"") { end += 1 }
    return start..<end
  }

  /// Whether two elements have the same name and the same text.
  func hasElement(at offset: Int, equalTo other: PackedLeaf, at otherOffset: Int) -> Bool {
    if self === other, offset == otherOffset { return true }
    let (range, otherRange) = (range(at: offset), other.range(at: otherOffset))
    guard range.count == otherRange.count, text[range] == other.text[otherRange] else { return false }
    // Equal texts contain equal names.
    return (names == nil && other.names == nil) || name(at: offset) == other.name(at: otherOffset)
  }

  func hasSameName(at offset: Int, as other: PackedLeaf, at otherOffset: Int) -> Bool {
    guard names == nil, other.names == nil else { return name(at: offset) == other.name(at: otherOffset) }
    return text[nameRange(at: offset)] == other.text[other.nameRange(at: otherOffset)]
  }

  // MARK: Searching

  /// The offset of the element with a name. Looks at each element.
  func offset(of name: ElementKey) -> Int? {
    if let names { return names.firstIndex(of: name) }
    let entries = entries
    return name.text.withSpans(and: text) { Self.offset(of: $0, in: $1, entries) }
  }

  @inline(__always)
  private static func offset(of bytes: Span<UInt8>, in text: Span<UInt8>, _ entries: [Entry]) -> Int? {
    // Without `names`, no id has a quote. But the text of an id and the members after it can equal an
    // id with quotes.
    if entries[0].valueStart == 0, bytes.contains(UInt8(ascii: "\"")) { return nil }
    var first = 0
    for offset in entries.indices {
      let entry = entries[offset]
      let start = first + (entry.valueStart > 0 ? 1 : PackedElement.itemPrefix.count)
      let end = start + bytes.count
      if end < Int(entry.end), text[end] == UInt8(ascii: "\""),
        entry.valueStart == 0 || end + 2 == first + Int(entry.valueStart),
        text.extracting(start..<end).hasSameBytes(as: bytes)
      {
        return offset
      }
      first = Int(entry.end) + 1
    }
    return nil
  }

  /// Whether an element's name begins with a prefix. Makes no string of a name in the text.
  func hasName(at offset: Int, withPrefix prefix: String) -> Bool {
    if let names { return names[offset].hasPrefix(prefix) }
    let range = range(at: offset)
    let start = range.lowerBound + (entries[offset].valueStart > 0 ? 1 : PackedElement.itemPrefix.count)
    return prefix.withSpans(and: text) { prefix, text in
      let end = start + prefix.count
      // A quote follows the name, and a name in the text has none. So the name is long enough.
      return end < range.upperBound && !prefix.contains(UInt8(ascii: "\""))
        && text.extracting(start..<end).hasSameBytes(as: prefix)
    }
  }

  /// In a map, the offset of the first element whose name is not less than `name`, and whether it
  /// has this name.
  func place(of name: ElementKey) -> (offset: Int, isFound: Bool) {
    if let names {
      var (low, high) = (0, count)
      while low < high {
        let middle = (low + high) / 2
        if names[middle] < name { low = middle + 1 } else { high = middle }
      }
      return (low, low < count && names[low] == name)
    }
    let entries = entries
    return name.text.withSpans(and: text) { Self.place(of: $0, in: $1, entries) }
  }

  @inline(__always)
  private static func place(
    of bytes: Span<UInt8>,
    in text: Span<UInt8>,
    _ entries: [Entry]
  ) -> (offset: Int, isFound: Bool) {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      let start = middle == 0 ? 0 : Int(entries[middle - 1].end) + 1
      // The name is between quotes, and a colon follows.
      let name = text.extracting((start + 1)..<(start + Int(entries[middle].valueStart) - 2))
      switch name.order(before: bytes) {
      case 0: return (middle, true)
      case 1...: high = middle
      default: low = middle + 1
      }
    }
    return (low, false)
  }

  /// Whether the names of a map's leaf ascend, and come after those of the leaf before it.
  func ascends(after previous: PackedLeaf?) -> Bool {
    if let previous, !begins(after: previous.name(at: previous.count - 1)) { return false }
    if let names { return (1..<count).allSatisfy { names[$0 - 1] < names[$0] } }
    return text.withSpan { Self.ascends($0, entries) }
  }

  @inline(__always)
  private static func ascends(_ text: Span<UInt8>, _ entries: [Entry]) -> Bool {
    var (start, last) = (0, 0..<0)
    for offset in entries.indices {
      // The name is between quotes, and a colon follows.
      let name = (start + 1)..<(start + Int(entries[offset].valueStart) - 2)
      if offset > 0, text.extracting(last).order(before: text.extracting(name)) >= 0 { return false }
      (start, last) = (Int(entries[offset].end) + 1, name)
    }
    return true
  }

  /// Whether a name comes before all names of a map's leaf.
  func begins(after name: ElementKey) -> Bool {
    if let names { return name < names[0] }
    let range = 1..<(Int(entries[0].valueStart) - 2)
    return name.text.withSpans(and: text) { name, text in text.extracting(range).order(before: name) > 0 }
  }
}

/// An element that is to be added to a leaf.
struct PackedElement {
  static let itemPrefix = Array(#"{"id":""#.utf8)

  let name: ElementKey
  let text: [UInt8]
  let valueStart: Int
  let isNameInText: Bool
  let revision: Revision

  /// An element of a list.
  init(item: [UInt8], id: ElementKey, revision: Revision) {
    name = id
    text = item
    valueStart = 0
    isNameInText = id.text.withSpans(and: item) { Self.isName($0, in: $1, at: 0) }
    self.revision = revision
  }

  /// A member of a map.
  init(value: [UInt8], key: ElementKey, revision: Revision) {
    name = key
    var text: [UInt8] = []
    isNameInText = key.text.withSpans(and: value) { text.append(member: $0, json: $1) }
    valueStart = text.count - value.count
    self.text = text
    self.revision = revision
  }

  /// The size that quotas count.
  var bytes: Int { valueStart > 0 ? text.count - valueStart + name.text.utf8.count : text.count }

  /// Whether the item that begins at `place` begins with this id, and the id needs no escapes.
  static func isName(_ id: Span<UInt8>, in text: Span<UInt8>, at place: Int) -> Bool {
    let start = place + itemPrefix.count
    let end = start + id.count
    guard end < text.count, text[end] == UInt8(ascii: "\""),
      itemPrefix.withSpan({ text.extracting(place..<start).hasSameBytes(as: $0) }),
      text.extracting(start..<end).hasSameBytes(as: id)
    else { return false }
    // An id with a quote or a backslash is escaped in JSON. Then these bytes are another id.
    return !id.contains(UInt8(ascii: "\"")) && !id.contains(UInt8(ascii: "\\"))
  }
}

/// Collects the elements of a leaf.
struct PackedLeafBuilder {
  private(set) var text: [UInt8] = []
  private(set) var entries: [PackedLeaf.Entry] = []
  private var names: [ElementKey]?
  private var bytes = 0

  /// Reserves the memory exactly, because a leaf that is built once is never extended.
  init(reserving count: Int = 0, length: Int = 0) {
    if count > 0 { entries.reserveCapacity(count) }
    if length > 0 { text.reserveCapacity(length) }
  }

  var count: Int { entries.count }

  /// Whether the elements need two leaves.
  var isTooLarge: Bool {
    count > PackedLeaf.maximumCount || (count > 1 && text.count > PackedLeaf.maximumLength)
  }

  mutating func append(_ element: PackedElement) {
    if !entries.isEmpty { text.append(UInt8(ascii: ",")) }
    text.append(contentsOf: element.text)
    finishElement(element.name, element.isNameInText, element.valueStart, element.bytes, element.revision)
  }

  /// Appends an element of a list.
  mutating func append(item: Span<UInt8>, id: Span<UInt8>, revision: Revision) {
    if !entries.isEmpty { text.append(UInt8(ascii: ",")) }
    let start = text.count
    text.append(copying: item)
    let isNameInText = text.withSpan { PackedElement.isName(id, in: $0, at: start) }
    finishElement(Self.key(id), isNameInText, 0, item.count, revision)
  }

  /// Appends a member of a map.
  mutating func append(value: Span<UInt8>, key: Span<UInt8>, revision: Revision) {
    if !entries.isEmpty { text.append(UInt8(ascii: ",")) }
    let start = text.count
    let isNameInText = text.append(member: key, json: value)
    let (valueStart, size) = (text.count - start - value.count, value.count + key.count)
    finishElement(Self.key(key), isNameInText, valueStart, size, revision)
  }

  private static func key(_ name: Span<UInt8>) -> ElementKey {
    name.withUnsafeBufferPointer { ElementKey(String(decoding: $0, as: UTF8.self)) }
  }

  /// Adds the entry of an element whose text was just appended.
  private mutating func finishElement(
    _ name: @autoclosure () -> ElementKey,
    _ isNameInText: Bool,
    _ valueStart: Int,
    _ bytes: Int,
    _ revision: Revision
  ) {
    if !isNameInText, names == nil { names = leaf(label: 0).allNames }
    names?.append(name())
    self.bytes += bytes
    entries.append(
      PackedLeaf.Entry(revision: revision, end: UInt32(text.count), valueStart: UInt32(valueStart))
    )
  }

  /// Removes all elements, and keeps the memory for others.
  mutating func removeAll() {
    text.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    names = nil
    bytes = 0
  }

  /// Appends elements of another leaf.
  mutating func append(_ leaf: PackedLeaf, _ offsets: Range<Int>) {
    guard !offsets.isEmpty else { return }
    if !entries.isEmpty { text.append(UInt8(ascii: ",")) }
    let start = leaf.range(at: offsets.lowerBound).lowerBound
    let length = text.count
    text.append(contentsOf: leaf.text[start..<Int(leaf.entries[offsets.upperBound - 1].end)])
    if names != nil || leaf.names != nil {
      names = (names ?? self.leaf(label: 0).allNames) + offsets.map(leaf.name(at:))
    }
    for offset in offsets {
      let entry = leaf.entries[offset]
      let range = leaf.valueRange(at: offset)
      bytes += range.count
      if entry.valueStart > 0 { bytes += names.map { $0[entries.count].text.utf8.count } ?? Int(entry.valueStart) - 3 }
      entries.append(
        PackedLeaf.Entry(
          revision: entry.revision,
          end: UInt32(Int(entry.end) - start + length),
          valueStart: entry.valueStart
        )
      )
    }
  }

  func leaf(label: UInt64) -> PackedLeaf {
    PackedLeaf(text: text, entries: entries, names: names, label: label, bytes: bytes)
  }

  /// The leaf in copies that have exactly the memory that it needs.
  func exactLeaf(label: UInt64) -> PackedLeaf {
    var (exactText, exactEntries): ([UInt8], [PackedLeaf.Entry]) = ([], [])
    exactText.reserveCapacity(text.count)
    exactText.append(contentsOf: text)
    exactEntries.reserveCapacity(entries.count)
    exactEntries.append(contentsOf: entries)
    return PackedLeaf(text: exactText, entries: exactEntries, names: names, label: label, bytes: bytes)
  }
}

extension PackedLeaf {
  fileprivate var allNames: [ElementKey] { entries.indices.map(name(at:)) }

  /// This leaf with an element in place of the elements at `offsets`, or without them.
  func replacing(_ offsets: Range<Int>, with element: PackedElement?) -> PackedLeafBuilder {
    let length = text.count + (element?.text.count ?? 0) + 1
    var builder = PackedLeafBuilder(reserving: count + 1 - offsets.count, length: length)
    builder.append(self, 0..<offsets.lowerBound)
    if let element { builder.append(element) }
    builder.append(self, offsets.upperBound..<count)
    return builder
  }

  /// The offset at which half of the text comes before. Neither part is empty.
  var middle: Int {
    let half = entries.firstIndex { Int($0.end) * 2 > text.count } ?? 0
    return min(max(half, 1), count - 1)
  }

  /// Some of the elements as a leaf.
  func part(_ offsets: Range<Int>, label: UInt64) -> PackedLeaf {
    let length = Int(entries[offsets.upperBound - 1].end) - range(at: offsets.lowerBound).lowerBound
    var builder = PackedLeafBuilder(reserving: offsets.count, length: length)
    builder.append(self, offsets)
    return builder.leaf(label: label)
  }
}
