import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepModules

@Suite("Collections")
struct CollectionStateTests {
  private static func list(_ ids: String...) -> ListState {
    ListState(
      ids.map { ListItem(id: ElementKey($0), encoded: Array(#"{"id":"\#($0)"}"#.utf8), revision: 1) },
      revision: 1
    )
  }

  private static func item(_ id: String) -> [UInt8] { Array(#"{"id":"\#(id)","new":1}"#.utf8) }

  private struct SQLiteRow: CustomTestStringConvertible, Sendable {
    let fact: ListMutation
    let ids: [String]
    var testDescription: String { "\(fact)" }
  }

  @Test(
    "A fact about a list leads to these ids; one that doesn't fit does what comes nearest, or nothing",
    arguments: [
      SQLiteRow(fact: .inserted(id: "x", item: item("x"), index: 0), ids: ["x", "a", "b", "c"]),
      SQLiteRow(fact: .inserted(id: "x", item: item("x"), index: 3), ids: ["a", "b", "c", "x"]),
      SQLiteRow(fact: .inserted(id: "x", item: item("x"), index: .max), ids: ["a", "b", "c", "x"]),
      SQLiteRow(fact: .inserted(id: "x", item: item("x"), index: .min), ids: ["x", "a", "b", "c"]),
      SQLiteRow(fact: .inserted(id: "a", item: item("a"), index: 2), ids: ["a", "b", "c"]),
      SQLiteRow(fact: .modified(id: "b", item: item("b")), ids: ["a", "b", "c"]),
      SQLiteRow(fact: .modified(id: "x", item: item("x")), ids: ["a", "b", "c"]),
      SQLiteRow(fact: .removed(id: "b"), ids: ["a", "c"]),
      SQLiteRow(fact: .removed(id: "x"), ids: ["a", "b", "c"]),
      SQLiteRow(fact: .moved(id: "a", to: 1), ids: ["b", "a", "c"]),
      SQLiteRow(fact: .moved(id: "a", to: .max), ids: ["b", "c", "a"]),
      SQLiteRow(fact: .moved(id: "c", to: .min), ids: ["c", "a", "b"]),
      SQLiteRow(fact: .moved(id: "x", to: 0), ids: ["a", "b", "c"]),
      SQLiteRow(fact: .cleared, ids: []),
    ]
  )
  private func lists(_ row: SQLiteRow) {
    var list = Self.list("a", "b", "c")
    list.revision = 2
    FavoritesReactor.reduce(&list, row.fact)
    #expect(list.items.map(\.id.text) == row.ids)
    #expect(list.count == row.ids.count && list.revision == 2)
    // What it keeps beside the elements fits them.
    #expect(list.bytes == list.items.reduce(0) { $0 + $1.encoded.count })
    for (index, item) in list.items.enumerated() {
      #expect(list[item.id.text] === item && list.index(of: item.id.text) == index)
    }
    #expect(list["x"] == nil || row.ids.contains("x"))
    // What changed or moved is of the new revision, and nothing else.
    let touched: String? =
      switch row.fact {
      case .inserted(let id, _, _) where id == "x": id
      case .modified(let id, _), .moved(let id, _): id
      default: nil
      }
    for item in list.items { #expect(item.revision == (item.id.text == touched ? 2 : 1)) }
  }

  @Test("Facts about a map set, remove and clear; removing what isn't there changes nothing")
  func maps() {
    var map = MapState(texts: ["a": "1", "b": "22"])
    map.revision = 2
    #expect(map.bytes == 5)
    DefaultsReactor.reduce(&map, .set(key: "a", value: Array("333".utf8)))
    #expect(map.bytes == 7 && map["a"]?.revision == 2 && map["b"]?.revision == 1)
    ProfileReactor.reduce(&map, .removed(key: "b"))
    map.apply(.removed(key: "none"))
    #expect(map.count == 1 && map.bytes == 4 && map["b"] == nil)
    map.apply(.cleared)
    #expect(map.count == 0 && map.bytes == 0 && map.revision == 2)
  }

  @Test("Names of other bytes are other names, even where people see the same")
  func names() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    var map = MapState(texts: [composed: "1"])
    map.apply(.set(key: decomposed, value: Array("2".utf8)))
    #expect(map.count == 2 && map[composed]?.encoded == Array("1".utf8))
    map.apply(.removed(key: composed))
    #expect(map.count == 1 && map[decomposed]?.encoded == Array("2".utf8))
    var list = Self.list(composed)
    list.apply(.inserted(id: decomposed, item: Self.item(decomposed), index: 0))
    list.apply(.moved(id: composed, to: 0))
    #expect(list.items.map { $0.id.text.unicodeScalars.count } == [1, 2])
  }

  @Test("Facts of the other kind change nothing but the revision")
  func otherKind() {
    var list = CollectionState.list(Self.list("a"))
    list.apply([.map(.cleared), .map(.set(key: "a", value: []))], revision: 2)
    #expect(list.count == 1 && list.revision == 2)
    var map = CollectionState.map(MapState(texts: ["a": "1"]))
    map.apply([.list(.cleared), .list(.removed(id: "a"))], revision: 2)
    #expect(map.count == 1 && map.revision == 2)
  }

  @Test("A user's state takes facts in where they belong, and gives a module's collections in the order of their names")
  func users() {
    var state = UserState()
    for suite in ["b", "a", "c"] {
      let name = CollectionName("defaults", part: suite)
      state.apply([.map(.set(key: suite, value: Array("1".utf8)))], to: name, revision: 3)
    }
    state.apply(
      [.list(.inserted(id: "x", item: Self.item("x"), index: 0))],
      to: CollectionName("favorites"),
      revision: 4
    )
    state.apply([], to: CollectionName("profile"), revision: 5)
    #expect(state.collections(of: "defaults").map(\.name.description) == ["defaults/a", "defaults/b", "defaults/c"])
    #expect(state.map(CollectionName("defaults", part: "b"))["b"]?.revision == 3)
    #expect(state.list(CollectionName("favorites")).revision == 4)
    #expect(state.collections[CollectionName("profile")] == nil)
    // Asked for as what it isn't, a collection is empty.
    #expect(state.map(CollectionName("favorites")).count == 0)
  }

  @Test("A collection's name reads as it's written", arguments: ["favorites", "defaults/standard", "a/b/c", "a/", ""])
  func collectionNames(_ text: String) {
    #expect(CollectionName(text: text).description == text)
  }

  @Test("How long a list would be after facts is how long it is then")
  func sizes() throws {
    let seed = TestSeed.make(for: "CollectionStateTests.sizes")
    var random = SeededNumbers(seed: seed)
    for _ in 0..<300 {
      let list = Self.list("a", "b", "c")
      var (after, facts) = (list, [ListMutation]())
      for _ in 0..<random.below(6) {
        let id = random.one(of: ["a", "b", "x", "y"])
        // A reactor decides on what fits: what comes isn't there, and what changes is.
        let fact: ListMutation =
          after[id] == nil
          ? .inserted(id: id, item: Self.item(id), index: random.below(4))
          : random.one(of: [.modified(id: id, item: Self.item(id)), .removed(id: id), .moved(id: id, to: 0), .cleared])
        after.apply(fact)
        facts.append(fact)
      }
      let size = list.size(after: facts)
      #expect(size.count == after.count, "seed \(seed): \(facts)")
      #expect(size.bytes == after.bytes, "seed \(seed): \(facts)")
    }
  }
}
