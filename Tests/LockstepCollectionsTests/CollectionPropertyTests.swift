import LockstepJSON
import LockstepReactor
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Lists and maps against plain arrays and dictionaries", .timeLimit(.minutes(10)))
struct CollectionPropertyTests {
  /// How a random walk changes a collection: as a person does, by growing at an end or at one
  /// place, or by shrinking.
  private enum Habit: CaseIterable { case anywhere, atEnd, atBeginning, atOnePlace, shrinking, moving }

  private static func item(_ id: String, _ random: inout SeededNumbers) -> EncodedJSON {
    let length = random.once(in: 40) ? random.below(12_000) : random.below(60)
    let text: JSON = .string(String(repeating: "x", count: length))
    // An id is not always the first member, and not always without escapes.
    return random.once(in: 50)
      ? EncodedJSON(["text": text, "id": .string(id)]) : EncodedJSON(["id": .string(id), "text": text])
  }

  private static func name(_ random: inout SeededNumbers) -> String {
    random.once(in: 20) ? random.text(upTo: 6) + "!" : "item-\(random.below(100_000))"
  }

  private static func index(_ habit: Habit, _ count: Int, _ random: inout SeededNumbers) -> Int {
    switch habit {
    case .atEnd: count
    case .atBeginning: 0
    case .atOnePlace: count / 3
    case .anywhere, .shrinking, .moving: random.below(count + 1)
    }
  }

  private struct Element: Equatable, Identifiable {
    let id: ElementKey
    let encoded: [UInt8]
    let revision: Revision
  }

  /// An id that equals an element's id together with the text of the members after it.
  private static func lookalike(of element: Element) -> String {
    String(decoding: element.encoded.dropFirst(7).dropLast(2), as: UTF8.self)
  }

  private static func mutation(_ habit: Habit, _ present: [Element], _ random: inout SeededNumbers) -> ListMutation {
    let kind = random.below(20)
    let one = present.isEmpty ? nil : random.one(of: present).id.text
    switch (habit, one) {
    case (.shrinking, let id?) where kind < 16: return .removed(id: id)
    case (.moving, let id?) where kind < 12: return .moved(id: id, to: random.below(present.count))
    case (_, let id?) where kind == 0: return .removed(id: id)
    case (_, let id?) where kind == 1: return .moved(id: id, to: random.below(present.count + 2) - 1)
    case (_, let id?) where kind < 5: return .modified(id: id, item: item(id, &random))
    default:
      let lookalike = random.once(in: 40) ? present.randomElement(using: &random).map(lookalike) : nil
      let id = lookalike ?? name(&random)
      return .inserted(id: id, item: item(id, &random), index: index(habit, present.count, &random))
    }
  }

  private static func apply(_ mutation: ListMutation, to model: inout [Element], _ revision: Revision) {
    func place(_ id: String) -> Int? { model.firstIndex { $0.id == ElementKey(id) } }
    switch mutation {
    case .inserted(let id, let item, let index):
      if place(id) != nil { return }
      let element = Element(id: ElementKey(id), encoded: item.encoded, revision: revision)
      model.insert(element, at: min(max(index, 0), model.count))
    case .modified(let id, let item):
      guard let index = place(id) else { return }
      model[index] = Element(id: ElementKey(id), encoded: item.encoded, revision: revision)
    case .removed(let id): if let index = place(id) { model.remove(at: index) }
    case .moved(let id, let to):
      guard let index = place(id) else { return }
      let old = model.remove(at: index)
      model.insert(Element(id: old.id, encoded: old.encoded, revision: revision), at: min(max(to, 0), model.count))
    case .cleared: model = []
    }
  }

  private static func elements(_ list: ListState) -> [Element] {
    list.items.map { Element(id: $0.id, encoded: $0.encoded, revision: $0.revision) }
  }

  private static func text(_ model: [Element]) -> [UInt8] {
    Array(model.map(\.encoded).joined(separator: [UInt8(ascii: ",")]))
  }

  @Test("After any changes, a list has the elements, positions, sizes and text of an array", arguments: 0..<6)
  func lists(_ round: Int) throws {
    let seed = TestSeed.make(for: "Lists \(round)")
    var random = SeededNumbers(seed: seed &+ UInt64(round))
    var (list, model): (ListState, [Element]) = (ListState(), [])
    var past: [(list: ListState, model: [Element])] = []
    for step in 0..<900 {
      let habit = Habit.allCases[(step / 150 + round) % Habit.allCases.count]
      let revision = Revision(number: step + 1)
      let mutation = step == 800 && round == 0 ? .cleared : Self.mutation(habit, model, &random)
      list.revision = revision
      list.apply(mutation)
      Self.apply(mutation, to: &model, revision)
      try #require(list.count == model.count && list.bytes == model.reduce(0) { $0 + $1.encoded.count })
      if let (index, element) = model.enumerated().randomElement(using: &random) {
        try #require(list.index(of: element.id.text) == index && list[element.id.text]?.encoded == element.encoded)
        try #require(list.items[index].id == element.id)
        let lookalike = ElementKey(Self.lookalike(of: element))
        try #require(list.index(of: lookalike.text) == model.firstIndex { $0.id == lookalike })
      }
      try #require(list[Self.name(&random) + "?"] == nil)
      if step % 100 == 0 { past.append((list, model)) }
      guard step % 50 == 0 || step == 899 else { continue }
      try #require(Self.elements(list) == model)
      var text: [UInt8] = []
      list.appendText(to: &text)
      try #require(text == Self.text(model))
      for (index, element) in model.enumerated() { try #require(list.index(of: element.id.text) == index) }
      try #require(list == ListState(list.items, revision: revision))
    }
    // Old versions stay as they were.
    for (list, model) in past { try #require(Self.elements(list) == model) }
    for _ in 0..<30 {
      try checkDifference(from: random.one(of: past.map(\.list)), to: random.one(of: past.map(\.list)))
    }
  }

  /// Checks that a difference leads from one list to the other with the fewest moves, and agrees
  /// with the reactor library.
  private func checkDifference(from old: ListState, to new: ListState) throws {
    let difference = ListDifference(from: old, to: new)
    typealias Changeset = ListChangeset<ListItem>
    let changeset = Changeset(
      deletions: difference.deletions.map { .init(index: $0.index, id: $0.id) },
      insertions: difference.insertions.map { .init(index: $0.index, element: $0.item) },
      moves: difference.moves.map { .init(from: $0.from, to: $0.to, id: $0.id) },
      modifications: difference.modifications.map { .init(index: $0.index, newIndex: $0.newIndex, element: $0.item) }
    )
    let (before, after) = (Array(old.items), Array(new.items))
    try #require(try changeset.apply(to: before) == after)
    let expected = try Changeset(from: before, to: after)
    try #require(changeset.deletions == expected.deletions && changeset.insertions == expected.insertions)
    try #require(changeset.modifications == expected.modifications && changeset.moves.count == expected.moves.count)
    try #require(difference.isEmpty == (before == after))
  }

  @Test("The difference after a few changes of a long list is small, correct and has the fewest moves")
  func fewChanges() throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "Few changes of lists"))
    let items = (0..<2_000).map { number in
      ListItem(id: ElementKey("item-\(number)"), encoded: Array(#"{"id":"item-\#(number)"}"#.utf8), revision: 1)
    }
    let first = ListState(items, revision: 1)
    for _ in 0..<60 {
      var list = first
      list.revision = 2
      for _ in 0...random.below(40) {
        let model = [random.one(of: items)].map { Element(id: $0.id, encoded: $0.encoded, revision: 1) }
        var mutation = Self.mutation(random.once(in: 2) ? .moving : .anywhere, model, &random)
        if case .moved(let id, _) = mutation { mutation = .moved(id: id, to: random.below(list.count)) }
        list.apply(mutation)
      }
      try checkDifference(from: first, to: list)
      try checkDifference(from: list, to: first)
      let changes = CollectionState.list(list).changes(since: 1, from: .list(first))
      #expect(changes.compared < 100 * PackedLeaf.maximumCount)
    }
  }

  @Test("If either of two elements could be the one that moved, it is the one that the user moved")
  func choice() {
    var list = ListState()
    for (index, id) in ["a", "b"].enumerated() {
      list.apply(.inserted(id: id, item: EncodedJSON(["id": .string(id)]), index: index))
    }
    for (id, target) in [("b", 0), ("a", 1)] {
      var moved = list
      moved.revision = 2
      moved.apply(.moved(id: id, to: target))
      #expect(ListDifference(from: list, to: moved).moves.map(\.id.text) == [id])
    }
  }

  @Test("A list finds its elements after thousands of insertions at one place")
  func onePlace() throws {
    var list = ListState()
    for number in 0..<4_000 {
      let id = "item-\(number)"
      let index = number < 100 ? number : 50
      list.apply(.inserted(id: id, item: EncodedJSON(["id": .string(id)]), index: index))
      try #require(list.index(of: id) == index)
    }
    for (index, item) in list.items.enumerated() { try #require(list.index(of: item.id.text) == index) }
  }

  @Test("A changed list or map shares its memory with the one before it")
  func sharing() {
    var list = ListState()
    var map = MapState()
    for number in 0..<10_000 {
      let item = EncodedJSON(["id": .string("item-\(number)"), "title": .string(String(repeating: "t", count: 60))])
      list.apply(.inserted(id: "item-\(number)", item: item, index: number))
      map.apply(.set(key: "key-\(number)", value: EncodedJSON(.integer(Int64(number)))))
    }
    // The limit: the JSON and 64 bytes for each element.
    #expect(list.memory <= list.bytes + 64 * list.count)
    #expect(map.memory <= map.bytes + 64 * map.count)
    let (oldList, oldMap) = (list, map)
    list.apply(.modified(id: "item-5000", item: EncodedJSON(["id": "item-5000"])))
    map.apply(.set(key: "key-5000", value: EncodedJSON(.null)))
    #expect(oldList.memory(notIn: list) < 12_000 && oldMap.memory(notIn: map) < 8_000)
    #expect(CollectionState.list(list).changes(since: 1, from: .list(oldList)).compared <= 64)
    #expect(oldMap.changedKeys(in: map) == ["key-5000"])
  }

  @Test("After any changes, a map has the keys, values, sizes and text of a dictionary", arguments: 0..<6)
  func maps(_ round: Int) throws {
    let seed = TestSeed.make(for: "Maps \(round)")
    var random = SeededNumbers(seed: seed &+ UInt64(round))
    var map = MapState()
    var model: [ElementKey: [UInt8]] = [:]
    var past: [(map: MapState, model: [ElementKey: [UInt8]])] = []
    for step in 0..<900 {
      map.revision = Revision(number: step + 1)
      let isShrinking = (step / 300 + round) % 3 == 2
      let present = model.isEmpty ? nil : model.keys.sorted()[random.below(model.count)]
      if let present, random.once(in: isShrinking ? 1 : 8) {
        map.apply(.removed(key: present.text))
        model[present] = nil
      } else {
        let key = present.flatMap { random.once(in: 4) ? $0.text : nil } ?? Self.name(&random)
        let value = EncodedJSON(random.once(in: 30) ? .string(String(repeating: "v", count: 9_000)) : random.json())
        map.apply(.set(key: key, value: value))
        model[ElementKey(key)] = value.encoded
      }
      try #require(map.count == model.count)
      try #require(map.bytes == model.reduce(0) { $0 + $1.key.text.utf8.count + $1.value.count })
      if step % 100 == 0 { past.append((map, model)) }
      guard step % 50 == 0 || step == 899 else { continue }
      let sorted = model.sorted { $0.key < $1.key }
      try #require(map.values.map(\.key) == sorted.map(\.key) && map.values.map(\.value.encoded) == sorted.map(\.value))
      for (key, value) in model { try #require(map[key.text]?.encoded == value) }
      try #require(map[Self.name(&random) + "?"] == nil)
      try checkText(of: map, sorted, &random)
      let prefix = "item-\(random.below(100))"
      try #require(
        map.values.values(withPrefix: prefix).map(\.key) == sorted.map(\.key).filter { $0.hasPrefix(prefix) }
      )
      try #require(map == MapState(map.values, revision: map.revision))
    }
    for _ in 0..<30 {
      let (old, new) = (random.one(of: past), random.one(of: past))
      let keys = Set(old.model.keys).union(new.model.keys).filter { old.model[$0] != new.model[$0] }.sorted()
      try #require(old.map.changedKeys(in: new.map) == keys)
    }
  }

  /// Checks the text of a map alone and with other values between its own.
  private func checkText(
    of map: MapState,
    _ sorted: [(key: ElementKey, value: [UInt8])],
    _ random: inout SeededNumbers
  ) throws {
    let others = Set((0..<random.below(5)).map { _ in Self.name(&random) + "#" }).map { ElementKey($0) }.sorted()
    for more in [[], others] {
      let added = more.map { (key: $0, value: MapValue(encoded: Array("0".utf8), revision: 1)) }
      var text: [UInt8] = []
      map.appendText(to: &text, with: added)
      let members = (sorted + added.map { ($0.key, $0.value.encoded) }).sorted { $0.key < $1.key }
      var expected: [UInt8] = []
      for (index, member) in members.enumerated() {
        if index > 0 { expected.append(UInt8(ascii: ",")) }
        expected.append(json: member.key.text)
        expected.append(UInt8(ascii: ":"))
        expected += member.value
      }
      try #require(text == expected)
    }
  }
}
