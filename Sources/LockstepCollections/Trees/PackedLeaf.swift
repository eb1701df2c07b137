import LockstepJSON

/// A few neighboring elements of a collection, in one JSON text.
///
/// A list's text consists of the elements, and a map's text of members such as `"key":1`. Commas
/// separate them, so the text of a collection is the text of its leaves. A leaf never changes, so
/// the versions of a collection can share it.
final class PackedLeaf: Sendable {
  /// More elements are split into two leaves.
  static let maximumCount = 32
  /// A longer text of several elements is split into two leaves.
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
    let sought = name.text
    let bytes = sought.utf8Span.span
    let (entries, content) = (entries, text)
    let text = content.span
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

  /// In a map, the offset of the first element whose name is not less than `name`.
  func lowerBound(of name: ElementKey) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if hasName(at: middle, before: name) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func hasName(at offset: Int, before name: ElementKey) -> Bool {
    if let names { return names[offset] < name }
    let other = name.text
    let bytes = other.utf8Span.span
    let content = text
    let text = content.span
    return text.extracting(nameRange(at: offset)).precedes(bytes)
  }

  func hasName(_ name: ElementKey, at offset: Int) -> Bool {
    if let names { return names[offset] == name }
    let other = name.text
    let bytes = other.utf8Span.span
    let content = text
    let text = content.span
    return text.extracting(nameRange(at: offset)).hasSameBytes(as: bytes)
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
    isNameInText = Self.isName(id, in: item)
    self.revision = revision
  }

  /// A member of a map.
  init(value: [UInt8], key: ElementKey, revision: Revision) {
    name = key
    var text: [UInt8] = []
    let length = key.text.utf8.count
    text.reserveCapacity(length + 3 + value.count)
    text.append(json: key.text)
    isNameInText = text.count == length + 2
    text.append(UInt8(ascii: ":"))
    valueStart = text.count
    text.append(contentsOf: value)
    self.text = text
    self.revision = revision
  }

  /// The size that quotas count.
  var bytes: Int { valueStart > 0 ? text.count - valueStart + name.text.utf8.count : text.count }

  /// Whether an item begins with this id, and the id needs no escapes.
  private static func isName(_ id: ElementKey, in item: [UInt8]) -> Bool {
    let (idText, prefixBytes) = (id.text, itemPrefix)
    let id = idText.utf8Span.span
    let prefix = prefixBytes.span
    let item = item.span
    let end = prefix.count + id.count
    guard end < item.count, item[end] == UInt8(ascii: "\""), item.extracting(..<prefix.count).hasSameBytes(as: prefix),
      item.extracting(prefix.count..<end).hasSameBytes(as: id)
    else { return false }
    // An id with a quote or a backslash is escaped in JSON. Then these bytes are another id.
    return !id.contains(UInt8(ascii: "\"")) && !id.contains(UInt8(ascii: "\\"))
  }
}

extension Span<UInt8> {
  func hasSameBytes(as other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] { return false }
    return true
  }

  /// Whether these bytes come first in the order of bytes.
  func precedes(_ other: Span<UInt8>) -> Bool {
    for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
      return self[index] < other[index]
    }
    return count < other.count
  }

  fileprivate func contains(_ byte: UInt8) -> Bool {
    for index in indices where self[index] == byte { return true }
    return false
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
    if !element.isNameInText, names == nil { names = leaf(label: 0).allNames }
    names?.append(element.name)
    bytes += element.bytes
    entries.append(
      PackedLeaf.Entry(
        revision: element.revision,
        end: UInt32(text.count),
        valueStart: UInt32(element.valueStart)
      )
    )
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
