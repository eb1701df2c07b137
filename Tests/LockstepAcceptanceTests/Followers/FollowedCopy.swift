import LockstepJSON

/// A client's copy of a user's state. It applies changesets as a table view does, and it is strict:
/// a change that is sent twice is an error, as is a change that is missing.
struct FollowedCopy: Equatable, Sendable {
  /// The copy and a changeset contradict each other.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  struct Item: Equatable, Sendable {
    let id: String
    /// The item as the server sent it, written again. Items with different bytes have different
    /// contents.
    let content: String

    init(_ json: JSON) throws {
      guard let id = json["id"]?.stringValue else { throw Fault(description: "an item has no id: \(json)") }
      self.id = id
      content = json.description
    }
  }

  /// The lists by the names of their collections.
  private(set) var lists: [String: [Item]] = [:]
  /// The maps by the names of their collections, with each value as the server sent it. A map
  /// without values is the same as no map.
  private(set) var maps: [String: [String: String]] = [:]

  /// How much a document changed.
  struct Tally: Sendable {
    var changesets = 0
    var moves = 0
  }

  // MARK: Whole collections

  mutating func replace(list name: String, by items: [JSON]) throws {
    let items = try items.map(Item.init)
    guard Set(items.map(\.id)).count == items.count else { throw Fault(description: "\(name) has an id twice") }
    lists[name] = items.isEmpty ? nil : items
  }

  mutating func replace(map name: String, by values: JSONObject) {
    maps[name] = values.isEmpty ? nil : Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0.value.description) })
  }

  /// Replaces the copy by whole collections.
  mutating func reset(to changesets: [JSON]) throws {
    self = FollowedCopy()
    for changeset in changesets {
      let name = changeset["collection"]?.stringValue ?? "?"
      if let items = changeset["items"]?.arrayValue {
        try replace(list: name, by: items)
      } else if let values = changeset["values"]?.objectValue {
        replace(map: name, by: values)
      } else {
        throw Fault(description: "a reset without a whole collection: \(changeset)")
      }
    }
  }

  // MARK: Changesets

  /// Applies changesets. Each is of another collection, and none is empty.
  mutating func apply(_ changesets: [JSON]) throws -> Tally {
    var tally = Tally()
    var names = Set<String>()
    for changeset in changesets {
      guard let name = changeset["collection"]?.stringValue, names.insert(name).inserted else {
        throw Fault(description: "a collection without a name, or two changesets of one collection: \(changeset)")
      }
      do {
        switch changeset["kind"]?.stringValue {
        case "list": tally.moves += try applyToList(name, changeset)
        case "map": try applyToMap(name, changeset)
        default: throw Fault(description: "the kind is unknown")
        }
      } catch {
        throw Fault(description: "\(error) in \(changeset), applied to \(lists[name] ?? []) \(maps[name] ?? [:])")
      }
      tally.changesets += 1
    }
    return tally
  }

  private mutating func applyToMap(_ name: String, _ changeset: JSON) throws {
    let set = changeset["set"]?.objectValue ?? [:]
    let removed = try Self.elements(changeset, "removed").compactMap(\.stringValue)
    try Self.require(!set.isEmpty || !removed.isEmpty, "nothing is different")
    var values = maps[name] ?? [:]
    for (key, value) in set {
      try Self.require(values[key] != value.description, "\(key) has that value already")
      values[key] = value.description
    }
    for key in removed {
      try Self.require(set[key] == nil && values.removeValue(forKey: key) != nil, "\(key) is not there to be removed")
    }
    maps[name] = values.isEmpty ? nil : values
  }

  /// Returns how many elements were moved.
  private mutating func applyToList(_ name: String, _ changeset: JSON) throws -> Int {
    let old = lists[name] ?? []
    let deletions = try Self.places(changeset, "deletions", "index", "id")
    let moves = try Self.places(changeset, "moves", "from", "id")
    let insertions = try Self.elements(changeset, "insertions").map { (try Self.index($0, "index"), try Self.item($0)) }
    let modifications = try Self.elements(changeset, "modifications")
    try Self.require(
      deletions.count + moves.count + insertions.count + modifications.count > 0,
      "nothing is different"
    )
    try Self.require(Self.ascend(insertions.map(\.0)), "the insertions are not in ascending order")

    // First remove all deleted elements and the sources of all moves. Their places refer to the old
    // list.
    var new = old
    for place in (deletions + moves).sorted(by: { $0.index > $1.index }) {
      try Self.require(
        place.index < old.count && old[place.index].id == place.id,
        "\(place.id) is not at \(place.index)"
      )
      new.remove(at: place.index)
    }
    // Then insert all new elements and the targets of all moves. Their places refer to the new
    // list.
    var arrivals = insertions
    for (place, move) in zip(moves, try Self.elements(changeset, "moves")) {
      arrivals.append((try Self.index(move, "to"), old[place.index]))
    }
    for (index, item) in arrivals.sorted(by: { $0.0 < $1.0 }) {
      try Self.require(index <= new.count, "there is no place \(index)")
      try Self.require(!new.contains { $0.id == item.id }, "\(item.id) is there already")
      new.insert(item, at: index)
    }
    try Self.require(
      Set(deletions.map(\.id)).isDisjoint(with: insertions.map(\.1.id)),
      "a deleted element is inserted again"
    )
    try replaceModified(modifications, old, &new)
    try Self.require(moves.count == Self.fewestMoves(from: old, to: new), "there are more moves than necessary")
    lists[name] = new.isEmpty ? nil : new
    return moves.count
  }

  private func replaceModified(_ modifications: [JSON], _ old: [Item], _ new: inout [Item]) throws {
    try Self.require(
      Self.ascend(try modifications.map { try Self.index($0, "index") }),
      "the modifications are not in ascending order"
    )
    for modification in modifications {
      let item = try Self.item(modification)
      let (index, newIndex) = (try Self.index(modification, "index"), try Self.index(modification, "newIndex"))
      try Self.require(index < old.count && old[index].id == item.id, "\(item.id) was not at \(index)")
      try Self.require(newIndex < new.count && new[newIndex].id == item.id, "\(item.id) is not at \(newIndex)")
      try Self.require(old[index].content != item.content, "\(item.id) has that content already")
      new[newIndex] = item
    }
  }

  // MARK: Reading

  /// Reads the members of an array that have ascending indexes and ids.
  private static func places(
    _ changeset: JSON,
    _ member: String,
    _ index: String,
    _ id: String
  ) throws -> [(index: Int, id: String)] {
    let places = try elements(changeset, member).map { element in
      (index: try Self.index(element, index), id: element[id]?.stringValue ?? "")
    }
    try require(ascend(places.map(\.index)), "\(member) are not in ascending order")
    return places
  }

  private static func elements(_ changeset: JSON, _ member: String) throws -> [JSON] {
    guard let elements = changeset[member]?.arrayValue else { throw Fault(description: "there is no array \(member)") }
    return elements
  }

  private static func index(_ element: JSON, _ member: String) throws -> Int {
    guard let index = element[member]?.intValue, index >= 0 else { throw Fault(description: "no \(member)") }
    return index
  }

  private static func item(_ element: JSON) throws -> Item {
    guard let item = element["item"] else { throw Fault(description: "no item") }
    return try Item(item)
  }

  private static func ascend(_ numbers: [Int]) -> Bool { zip(numbers, numbers.dropFirst()).allSatisfy(<) }

  private static func require(_ condition: Bool, _ fault: String) throws {
    guard condition else { throw Fault(description: fault) }
  }

  /// The smallest number of moves: all elements that are in both lists, except the longest sequence
  /// that keeps its order.
  private static func fewestMoves(from old: [Item], to new: [Item]) -> Int {
    let places = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($0.element.id, $0.offset) })
    let survivors = new.compactMap { places[$0.id] }
    // For each length, the smallest last element of an ascending sequence of that length.
    var ends: [Int] = []
    for place in survivors {
      if let position = ends.firstIndex(where: { $0 >= place }) { ends[position] = place } else { ends.append(place) }
    }
    return survivors.count - ends.count
  }
}
