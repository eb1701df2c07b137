import LockstepCollections
import LockstepJSON
import LockstepReactor

/// Encodes the difference between two states of a collection for the feed.
enum CollectionChange {
  /// Appends the changeset between two states of a list. Returns whether there is a difference.
  static func append(
    _ name: CollectionName,
    from old: [ListItem],
    to new: [ListItem],
    since revision: Revision,
    into bytes: inout [UInt8]
  ) throws -> Bool {
    // A changed or moved element has a new revision.
    let changes = try ListChangeset(from: old, to: new, stays: { $0.revision <= revision })
    if changes.isEmpty { return false }
    open(name, "list", &bytes)
    list("deletions", changes.deletions, &bytes) { deletion, bytes in
      bytes.append(contentsOf: #"{"index":\#(deletion.index),"id":"#.utf8)
      bytes.append(json: deletion.id.text)
    }
    list("insertions", changes.insertions, &bytes) { insertion, bytes in
      bytes.append(contentsOf: #"{"index":\#(insertion.index),"item":"#.utf8)
      bytes.append(contentsOf: insertion.element.encoded)
    }
    list("moves", changes.moves, &bytes) { move, bytes in
      bytes.append(contentsOf: #"{"from":\#(move.from),"to":\#(move.to),"id":"#.utf8)
      bytes.append(json: move.id.text)
    }
    list("modifications", changes.modifications, &bytes) { change, bytes in
      bytes.append(contentsOf: #"{"index":\#(change.index),"newIndex":\#(change.newIndex),"item":"#.utf8)
      bytes.append(contentsOf: change.element.encoded)
    }
    bytes.append(UInt8(ascii: "}"))
    return true
  }

  /// Appends the changeset between two states of a map. Returns whether there is a difference.
  static func append(
    _ name: CollectionName,
    from old: [ElementKey: MapValue],
    to new: [ElementKey: MapValue],
    into bytes: inout [UInt8]
  ) -> Bool {
    let set = new.filter { old[$0.key] != $0.value }.sorted { $0.key < $1.key }
    let removed = old.keys.filter { new[$0] == nil }.sorted()
    if set.isEmpty, removed.isEmpty { return false }
    open(name, "map", &bytes)
    bytes.append(contentsOf: #","set":"#.utf8)
    append(set.map { ($0.key, $0.value) }, into: &bytes)
    bytes.append(contentsOf: #","removed":"#.utf8)
    bytes.append(json: .array(removed.map { .string($0.text) }))
    bytes.append(UInt8(ascii: "}"))
    return true
  }

  static func append(_ name: CollectionName, whole items: [ListItem], into bytes: inout [UInt8]) {
    // Growing the array step by step would take longer than all other work here.
    bytes.reserveCapacity(items.reduce(bytes.count + 256) { $0 + $1.encoded.count + 1 })
    open(name, "list", &bytes)
    bytes.append(contentsOf: #","items":["#.utf8)
    for (index, item) in items.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: item.encoded)
    }
    bytes.append(contentsOf: "]}".utf8)
  }

  static func append(_ name: CollectionName, whole values: [ElementKey: MapValue], into bytes: inout [UInt8]) {
    bytes.reserveCapacity(values.reduce(bytes.count + 256) { $0 + $1.key.text.utf8.count + $1.value.encoded.count + 4 })
    open(name, "map", &bytes)
    bytes.append(contentsOf: #","values":"#.utf8)
    append(values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, into: &bytes)
    bytes.append(UInt8(ascii: "}"))
  }

  private static func open(_ name: CollectionName, _ kind: String, _ bytes: inout [UInt8]) {
    // A comma separates this object from an earlier one, which ends with a brace.
    if bytes.last == UInt8(ascii: "}") { bytes.append(UInt8(ascii: ",")) }
    bytes.append(contentsOf: #"{"collection":"#.utf8)
    bytes.append(json: name.description)
    bytes.append(contentsOf: #","kind":"\#(kind)""#.utf8)
  }

  private static func append(_ values: [(key: ElementKey, value: MapValue)], into bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    for (index, entry) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(json: entry.key.text)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: entry.value.encoded)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends an array of objects. `body` begins each object, and this function ends it.
  private static func list<Element>(
    _ name: String,
    _ elements: [Element],
    _ bytes: inout [UInt8],
    _ body: (Element, inout [UInt8]) -> Void
  ) {
    bytes.append(contentsOf: #","\#(name)":["#.utf8)
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      body(element, &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(UInt8(ascii: "]"))
  }
}

extension ListItem: Identifiable {}
