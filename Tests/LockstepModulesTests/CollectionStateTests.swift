import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport

@Suite("Collections", .timeLimit(.minutes(10)))
struct CollectionStateTests {
  private static func list(_ ids: String...) -> ListState {
    ListState(
      ids.map { ListItem(id: ElementKey($0), encoded: Array(#"{"id":"\#($0)"}"#.utf8), revision: 1) },
      revision: 1
    )
  }

  private static func item(_ id: String) -> EncodedJSON { EncodedJSON(text: #"{"id":"\#(id)","new":1}"#) }

  private struct Row: CustomTestStringConvertible, Sendable {
    let fact: ListMutation
    let ids: [String]
    var testDescription: String { "\(fact)" }
  }

  @Test(
    "A mutation of a list leads to these ids; one that does not fit has the nearest effect, or none",
    arguments: [
      Row(fact: .inserted(id: "x", item: item("x"), index: 0), ids: ["x", "a", "b", "c"]),
      Row(fact: .inserted(id: "x", item: item("x"), index: 3), ids: ["a", "b", "c", "x"]),
      Row(fact: .inserted(id: "x", item: item("x"), index: .max), ids: ["a", "b", "c", "x"]),
      Row(fact: .inserted(id: "x", item: item("x"), index: .min), ids: ["x", "a", "b", "c"]),
      Row(fact: .inserted(id: "a", item: item("a"), index: 2), ids: ["a", "b", "c"]),
      Row(fact: .modified(id: "b", item: item("b")), ids: ["a", "b", "c"]),
      Row(fact: .modified(id: "x", item: item("x")), ids: ["a", "b", "c"]),
      Row(fact: .removed(id: "b"), ids: ["a", "c"]),
      Row(fact: .removed(id: "x"), ids: ["a", "b", "c"]),
      Row(fact: .moved(id: "a", to: 1), ids: ["b", "a", "c"]),
      Row(fact: .moved(id: "a", to: .max), ids: ["b", "c", "a"]),
      Row(fact: .moved(id: "c", to: .min), ids: ["c", "a", "b"]),
      Row(fact: .moved(id: "x", to: 0), ids: ["a", "b", "c"]),
      Row(fact: .cleared, ids: []),
    ]
  )
  private func lists(_ row: Row) {
    var list = Self.list("a", "b", "c")
    list.revision = 2
    list.apply(row.fact)
    #expect(list.items.map(\.id.text) == row.ids)
    #expect(list.count == row.ids.count && list.revision == 2)
    // The list's size and index match its elements.
    #expect(list.bytes == list.items.reduce(0) { $0 + $1.encoded.count })
    for (index, item) in list.items.enumerated() {
      #expect(list[item.id.text] == item && list.index(of: item.id.text) == index)
    }
    #expect(list["x"] == nil || row.ids.contains("x"))
    // Only the changed or moved element has the new revision.
    let touched: String? =
      switch row.fact {
      case .inserted(let id, _, _) where id == "x": id
      case .modified(let id, _), .moved(let id, _): id
      default: nil
      }
    for item in list.items { #expect(item.revision == (item.id.text == touched ? 2 : 1)) }
  }

  @Test("Mutations of a map set, remove and clear; removing a missing key changes nothing")
  func maps() {
    var map = MapState(texts: ["a": "1", "b": "22"])
    map.revision = 2
    #expect(map.bytes == 5)
    ValuesReactor.reduce(&map, .set(key: "a", value: EncodedJSON(text: "333")))
    #expect(map.bytes == 7 && map["a"]?.revision == 2 && map["b"]?.revision == 1)
    ProfileReactor.reduce(&map, .removed(key: "b"))
    map.apply(.removed(key: "none"))
    #expect(map.count == 1 && map.bytes == 4 && map["b"] == nil)
    map.apply(.cleared)
    #expect(map.count == 0 && map.bytes == 0 && map.revision == 2)
  }

  @Test("Names with different bytes are different, even if they look the same")
  func names() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    var map = MapState(texts: [composed: "1"])
    map.apply(.set(key: decomposed, value: EncodedJSON(text: "2")))
    #expect(map.count == 2 && map[composed]?.encoded == Array("1".utf8))
    map.apply(.removed(key: composed))
    #expect(map.count == 1 && map[decomposed]?.encoded == Array("2".utf8))
    var list = Self.list(composed)
    list.apply(.inserted(id: decomposed, item: Self.item(decomposed), index: 0))
    list.apply(.moved(id: composed, to: 0))
    #expect(list.items.map { $0.id.text.unicodeScalars.count } == [1, 2])
  }

  @Test("Mutations of the other kind change only the revision")
  func otherKind() {
    var list = CollectionState.list(Self.list("a"))
    _ = list.reduce([.map(.cleared), .map(.removed(key: "a"))], by: .plainList, revision: 2)
    #expect(list.count == 1 && list.revision == 2)
    var map = CollectionState.map(MapState(texts: ["a": "1"]))
    _ = map.reduce([.list(.cleared), .list(.removed(id: "a"))], by: .plainMap, revision: 2)
    #expect(map.count == 1 && map.revision == 2)
  }

  @Test(
    "A user's state applies mutations to their collections, and returns a module's collections in the order of their names"
  )
  func users() {
    var state = UserState()
    for suite in ["b", "a", "c"] {
      let name = CollectionName("defaults", part: suite)
      _ = state.reduce([.map(.set(key: suite, value: EncodedJSON(text: "1")))], in: name, by: .plainMap, revision: 3)
    }
    _ = state.reduce(
      [.list(.inserted(id: "x", item: Self.item("x"), index: 0))],
      in: CollectionName("favorites"),
      by: .plainList,
      revision: 4
    )
    #expect(state.collections(of: "defaults").map(\.name.description) == ["defaults/a", "defaults/b", "defaults/c"])
    #expect(state.map(CollectionName("defaults", part: "b"))["b"]?.revision == 3)
    #expect(state.list(CollectionName("favorites")).revision == 4)
    #expect(state.collections[CollectionName("profile")] == nil)
    // A list is empty if it is read as a map.
    #expect(state.map(CollectionName("favorites")).count == 0)
  }

  @Test("A collection's name reads back equal", arguments: ["favorites", "defaults/standard", "a/b/c", "a/", ""])
  func collectionNames(_ text: String) {
    #expect(CollectionName(text: text).description == text)
  }
}
