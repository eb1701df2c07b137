import LockstepCollections
import LockstepJSON

/// Encodes the difference between two states of a collection, or a whole collection, for the feed.
enum CollectionChange {
  /// Appends the changeset of a list, unless it is empty.
  static func append(_ name: CollectionName, _ changes: ListDifference, into bytes: inout [UInt8]) {
    if changes.isEmpty { return }
    open(name, "list", &bytes)
    list("deletions", changes.deletions, &bytes) { deletion, bytes in
      bytes.append(contentsOf: #"{"index":\#(deletion.index),"id":"#.utf8)
      bytes.append(json: deletion.id.text)
    }
    list("insertions", changes.insertions, &bytes) { insertion, bytes in
      bytes.append(contentsOf: #"{"index":\#(insertion.index),"item":"#.utf8)
      bytes.append(contentsOf: insertion.item.text)
    }
    list("moves", changes.moves, &bytes) { move, bytes in
      bytes.append(contentsOf: #"{"from":\#(move.from),"to":\#(move.to),"id":"#.utf8)
      bytes.append(json: move.id.text)
    }
    list("modifications", changes.modifications, &bytes) { change, bytes in
      bytes.append(contentsOf: #"{"index":\#(change.index),"newIndex":\#(change.newIndex),"item":"#.utf8)
      bytes.append(contentsOf: change.item.text)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends the changeset of a map, unless it is empty: keys with their new values; nil for a
  /// removed key.
  static func append(
    _ name: CollectionName,
    _ changes: [(key: ElementKey, value: MapValue?)],
    into bytes: inout [UInt8]
  ) {
    if changes.isEmpty { return }
    open(name, "map", &bytes)
    bytes.append(contentsOf: #","set":{"#.utf8)
    var isFirst = true
    for (key, value) in changes {
      guard let value else { continue }
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      bytes.append(json: key.text)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: value.text)
    }
    bytes.append(contentsOf: #"},"removed":"#.utf8)
    bytes.append(json: .array(changes.filter { $0.value == nil }.map { .string($0.key.text) }))
    bytes.append(UInt8(ascii: "}"))
  }

  static func append(_ name: CollectionName, whole list: ListState, into bytes: inout [UInt8]) {
    open(name, "list", &bytes)
    bytes.append(contentsOf: #","items":["#.utf8)
    list.appendText(to: &bytes)
    bytes.append(contentsOf: "]}".utf8)
  }

  /// Appends a whole map, with more values whose keys it does not have.
  static func append(
    _ name: CollectionName,
    whole map: MapState,
    _ more: [(key: ElementKey, value: MapValue)],
    into bytes: inout [UInt8]
  ) {
    open(name, "map", &bytes)
    bytes.append(contentsOf: #","values":{"#.utf8)
    map.appendText(to: &bytes, with: more)
    bytes.append(contentsOf: "}}".utf8)
  }

  private static func open(_ name: CollectionName, _ kind: String, _ bytes: inout [UInt8]) {
    // A comma separates this object from an earlier one, which ends with a brace.
    if bytes.last == UInt8(ascii: "}") { bytes.append(UInt8(ascii: ",")) }
    bytes.append(contentsOf: #"{"collection":"#.utf8)
    bytes.append(json: name.description)
    bytes.append(contentsOf: #","kind":"\#(kind)""#.utf8)
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
