import LockstepJSON

/// What a client has of a user's state, and how it takes in what the feed tells: as a table view does, and strictly, so
/// that a change told twice is a fault as much as one that was left out.
struct FollowedCopy: Equatable, Sendable {
  /// What doesn't fit.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  struct Item: Equatable, Sendable {
    let id: String
    /// The item as it was sent, written again: what differs in its bytes differs.
    let content: String

    init(_ json: JSON) throws {
      guard let id = json["id"]?.stringValue else { throw Fault(description: "an item has no id: \(json)") }
      self.id = id
      content = json.description
    }
  }

  /// The lists by their collections' names.
  private(set) var lists: [String: [Item]] = [:]
  /// The maps, each value as it was sent. One without values is the same as none.
  private(set) var maps: [String: [String: String]] = [:]

  /// What came of taking a document in.
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

  /// Starts over with whole collections.
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

  /// Applies changesets, each of another collection, none of them empty.
  mutating func apply(_ changesets: [JSON]) throws -> Tally {
    var tally = Tally()
    var names = Set<String>()
    for changeset in changesets {
      guard let name = changeset["collection"]?.stringValue, names.insert(name).inserted else {
        throw Fault(description: "a collection without a name, or told of twice: \(changeset)")
      }
      do {
        switch changeset["kind"]?.stringValue {
        case "list": tally.moves += try applyToList(name, changeset)
        case "map": try applyToMap(name, changeset)
        default: throw Fault(description: "a kind that there isn't")
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
      try Self.require(set[key] == nil && values.removeValue(forKey: key) != nil, "\(key) isn't there to be removed")
    }
    maps[name] = values.isEmpty ? nil : values
  }

  /// Gives how many elements were moved.
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
    try Self.require(Self.ascend(insertions.map(\.0)), "insertions don't ascend")

    // Out with every deletion and every source of a move, by their places in the old list.
    var new = old
    for place in (deletions + moves).sorted(by: { $0.index > $1.index }) {
      try Self.require(
        place.index < old.count && old[place.index].id == place.id,
        "\(place.id) isn't at \(place.index)"
      )
      new.remove(at: place.index)
    }
    // In with every insertion and every moved one, by their places in the new list.
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
      "what is deleted is inserted again"
    )
    try replaceModified(modifications, old, &new)
    try Self.require(moves.count == Self.fewestMoves(from: old, to: new), "there are more moves than are needed")
    lists[name] = new.isEmpty ? nil : new
    return moves.count
  }

  private func replaceModified(_ modifications: [JSON], _ old: [Item], _ new: inout [Item]) throws {
    try Self.require(
      Self.ascend(try modifications.map { try Self.index($0, "index") }),
      "modifications don't ascend"
    )
    for modification in modifications {
      let item = try Self.item(modification)
      let (index, newIndex) = (try Self.index(modification, "index"), try Self.index(modification, "newIndex"))
      try Self.require(index < old.count && old[index].id == item.id, "\(item.id) wasn't at \(index)")
      try Self.require(newIndex < new.count && new[newIndex].id == item.id, "\(item.id) isn't at \(newIndex)")
      try Self.require(old[index].content != item.content, "\(item.id) is like that already")
      new[newIndex] = item
    }
  }

  // MARK: Reading

  /// What is told with an ascending index and an id.
  private static func places(
    _ changeset: JSON,
    _ member: String,
    _ index: String,
    _ id: String
  ) throws -> [(index: Int, id: String)] {
    let places = try elements(changeset, member).map { element in
      (index: try Self.index(element, index), id: element[id]?.stringValue ?? "")
    }
    try require(ascend(places.map(\.index)), "\(member) don't ascend")
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

  /// How many must move at least: all that are in both lists but the longest row of them that keeps its order.
  private static func fewestMoves(from old: [Item], to new: [Item]) -> Int {
    let places = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($0.element.id, $0.offset) })
    let survivors = new.compactMap { places[$0.id] }
    // The least last element of an ascending row, by the row's length.
    var ends: [Int] = []
    for place in survivors {
      if let position = ends.firstIndex(where: { $0 >= place }) { ends[position] = place } else { ends.append(place) }
    }
    return survivors.count - ends.count
  }
}
