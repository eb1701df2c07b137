import LockstepReactor
import Testing

@Suite("Changesets of random lists", .timeLimit(.minutes(10)))
struct ChangesetPropertyTests {
  /// Each test chooses a seed and prints it. Set this to repeat a failure.
  static let fixedSeed: UInt64? = nil

  private func numbers(_ test: String) -> RandomNumbers {
    let numbers = Self.fixedSeed.map { RandomNumbers(seed: $0) } ?? RandomNumbers()
    print("changeset property '\(test)': seed \(numbers.seed)")
    return numbers
  }

  /// Returns up to `count` of the ids 0..<`range`, in any order and any version.
  private func list(_ count: Int, of range: Int, _ numbers: inout RandomNumbers) -> [Item] {
    let ids = (0..<range).shuffled(using: &numbers).prefix(Int.random(in: 0...count, using: &numbers))
    return ids.map { Item(id: "\($0)", version: Int.random(in: 0...2, using: &numbers)) }
  }

  /// Returns the list after a few edits, like those of a person.
  private func edited(_ list: [Item], _ numbers: inout RandomNumbers) -> [Item] {
    var list = list
    for _ in 0..<Int.random(in: 0...6, using: &numbers) {
      let index = list.indices.randomElement(using: &numbers)
      switch (Int.random(in: 0..<4, using: &numbers), index) {
      case (0, let index?): list.remove(at: index)
      case (1, let index?): list[index].version += 1
      case (2, let index?):
        let item = list.remove(at: index)
        list.insert(item, at: Int.random(in: 0...list.count, using: &numbers))
      default:
        let item = Item(id: "new \(UInt64.random(in: 0 ... .max, using: &numbers))")
        list.insert(item, at: Int.random(in: 0...list.count, using: &numbers))
      }
    }
    return list
  }

  private func pair(_ round: Int, _ numbers: inout RandomNumbers) -> (old: [Item], new: [Item]) {
    let old = list(30, of: 40, &numbers)
    return (old, round.isMultiple(of: 2) ? list(30, of: 40, &numbers) : edited(old, &numbers))
  }

  @Test("Applying a changeset as a table view does gives the new list, 20,000 times")
  func apply() throws {
    var numbers = numbers("apply")
    for round in 0..<20_000 {
      let (old, new) = pair(round, &numbers)
      let changes = try ItemChangeset(from: old, to: new)
      try #require(applyAsTableView(changes, to: old) == new, "seed \(numbers.seed), round \(round)")
      let applied = try changes.apply(to: old)
      try #require(applied == new, "seed \(numbers.seed), round \(round)")
      try #require(changes.isEmpty == (old == new), "seed \(numbers.seed), round \(round)")
    }
  }

  @Test("The number of moves is the smallest possible, compared with a slow reference, 10,000 times")
  func minimalMoves() throws {
    var numbers = numbers("minimal moves")
    for round in 0..<10_000 {
      let (old, new) = pair(round, &numbers)
      let changes = try ItemChangeset(from: old, to: new)
      let oldIDs = old.map(\.id)
      let newIDs = new.map(\.id)
      let fewest = oldIDs.filter(newIDs.contains).count - longestCommonSubsequence(oldIDs, newIDs)
      try #require(changes.moves.count == fewest, "seed \(numbers.seed), round \(round)")
      let inserted = newIDs.filter { !oldIDs.contains($0) }
      try #require(changes.insertions.map(\.element.id) == inserted, "seed \(numbers.seed), round \(round)")
      let deleted = oldIDs.filter { !newIDs.contains($0) }
      try #require(changes.deletions.map(\.id) == deleted, "seed \(numbers.seed), round \(round)")
    }
  }

  @Test("A→B then B→C equals A→C, 10,000 times")
  func composition() throws {
    var numbers = numbers("composition")
    for round in 0..<10_000 {
      let (first, second) = pair(round, &numbers)
      let third = round.isMultiple(of: 3) ? first : edited(second, &numbers)
      let composed = try ItemChangeset(from: first, to: second)
        .followed(by: ItemChangeset(from: second, to: third), from: first)
      let direct = try ItemChangeset(from: first, to: third)
      try #require(composed == direct, "seed \(numbers.seed), round \(round)")
    }
  }

  @Test("A changeset for another list, or a damaged one, is refused if and only if it does not fit, 10,000 times")
  func hostile() throws {
    var numbers = numbers("hostile")
    var refused = 0
    for round in 0..<10_000 {
      let old = list(6, of: 8, &numbers)
      var changes = try ItemChangeset(from: old, to: edited(old, &numbers))
      if Bool.random(using: &numbers) { damage(&changes, &numbers) }
      let other = round.isMultiple(of: 3) ? list(6, of: 8, &numbers) : old
      let expected = applyByTheLetter(changes, to: other)
      let applied = try? changes.apply(to: other)
      if expected == nil { refused += 1 }
      try #require(applied == expected, "seed \(numbers.seed), round \(round): \(changes) to \(other)")
    }
    // Both outcomes must occur often, or the test would show little.
    #expect((2_000...8_000).contains(refused), "seed \(numbers.seed)")
  }

  /// Changes a number or adds an entry at a random place.
  private func damage(_ changes: inout ItemChangeset, _ numbers: inout RandomNumbers) {
    let index = Int.random(in: -1...8, using: &numbers)
    let other = Int.random(in: -1...8, using: &numbers)
    let item = Item(id: "\(Int.random(in: 0..<8, using: &numbers))", version: 3)
    switch Int.random(in: 0..<6, using: &numbers) {
    case 0: changes.deletions.append(.init(index: index, id: item.id))
    case 1: changes.insertions.append(.init(index: index, element: item))
    case 2: changes.moves.append(.init(from: index, to: other, id: item.id))
    case 3: changes.modifications.append(.init(index: index, newIndex: other, element: item))
    case 4: if !changes.deletions.isEmpty { changes.deletions.removeLast() }
    default: if !changes.insertions.isEmpty { changes.insertions.removeLast() }
    }
  }

  @Test("For maps, applying gives the new map, composition works, and equal maps have an empty changeset, 10,000 times")
  func maps() throws {
    var numbers = numbers("maps")
    func map(_ numbers: inout RandomNumbers) -> [String: Int] {
      var map: [String: Int] = [:]
      for key in 0..<12 where Bool.random(using: &numbers) { map["\(key)"] = Int.random(in: 0...2, using: &numbers) }
      return map
    }
    for round in 0..<10_000 {
      let (a, b, c) = (map(&numbers), map(&numbers), map(&numbers))
      let first = MapChangeset(from: a, to: b)
      let second = MapChangeset(from: b, to: c)
      try #require(first.apply(to: a) == b, "seed \(numbers.seed), round \(round)")
      try #require(first.isEmpty == (a == b), "seed \(numbers.seed), round \(round)")
      let composed = first.followed(by: second, from: a)
      try #require(composed == MapChangeset(from: a, to: c), "seed \(numbers.seed), round \(round)")
    }
  }
}

@Suite("Map changesets", .timeLimit(.minutes(10)))
struct MapChangesetTests {
  @Test("`set` has new and changed values and `removed` the removed keys, both in ascending order")
  func difference() {
    let changes = MapChangeset(from: ["a": 1, "b": 2, "d": 4, "c": 3], to: ["a": 1, "b": 5, "e": 6])
    #expect(changes == MapChangeset(set: ["b": 5, "e": 6], removed: ["c", "d"]))
  }

  @Test("A key that was set and removed again is not in a composition")
  func composition() {
    let base = ["a": 1]
    let first = MapChangeset(set: ["a": 2, "b": 1])
    let second = MapChangeset(set: ["a": 1], removed: ["b"])
    #expect(first.followed(by: second, from: base).isEmpty)
  }
}

/// Applies a changeset as documented, slowly, using indices only, as a client would.
private func applyAsTableView(_ changes: ItemChangeset, to old: [Item]) -> [Item] {
  let gone = changes.deletions.map(\.index) + changes.moves.map(\.from)
  var list = old
  for index in gone.sorted(by: >) { list.remove(at: index) }
  var arrivals = changes.insertions.map { ($0.index, $0.element) }
  arrivals += changes.moves.map { ($0.to, old[$0.from]) }
  for (index, item) in arrivals.sorted(by: { $0.0 < $1.0 }) { list.insert(item, at: index) }
  for modification in changes.modifications {
    list[list.firstIndex { $0.id == modification.element.id } ?? 0] = modification.element
  }
  return list
}

/// Returns the new list if the changeset fits the old one. Checks each documented rule slowly and
/// separately.
private func applyByTheLetter(_ changes: ItemChangeset, to old: [Item]) -> [Item]? {
  func isAt(_ index: Int, _ id: String, _ list: [Item]) -> Bool {
    list.indices.contains(index) && list[index].id == id
  }
  let gone = changes.deletions.map { ($0.index, $0.id) } + changes.moves.map { ($0.from, $0.id) }
  guard Set(gone.map(\.0)).count == gone.count, gone.allSatisfy({ isAt($0, $1, old) }) else { return nil }
  let newCount = old.count - changes.deletions.count + changes.insertions.count
  let places = changes.insertions.map(\.index) + changes.moves.map(\.to)
  guard Set(places).count == places.count, places.allSatisfy((0..<max(newCount, 0)).contains) else { return nil }
  var structural = changes
  structural.modifications = []
  let new = applyAsTableView(structural, to: old)
  guard Set(new.map(\.id)).count == new.count else { return nil }
  let modified = changes.modifications.map(\.index)
  guard zip(modified, modified.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
  for change in changes.modifications {
    guard isAt(change.index, change.element.id, old), isAt(change.newIndex, change.element.id, new) else { return nil }
  }
  return applyAsTableView(changes, to: old)
}

/// The quadratic textbook algorithm.
private func longestCommonSubsequence(_ first: [String], _ second: [String]) -> Int {
  var row = [Int](repeating: 0, count: second.count + 1)
  for element in first {
    var diagonal = 0
    for (column, other) in second.enumerated() {
      let above = row[column + 1]
      row[column + 1] = element == other ? diagonal + 1 : max(above, row[column])
      diagonal = above
    }
  }
  return row[second.count]
}
