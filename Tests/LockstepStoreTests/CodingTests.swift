import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("Mutations and states read back equal", .timeLimit(.minutes(10)))
struct CodingTests {
  private static func fact(_ random: inout SeededNumbers) -> CollectionMutation {
    let (id, value) = (random.text(upTo: 6), random.json())
    switch random.below(8) {
    case 0: return .list(.inserted(id: id, item: item(id, value), index: random.below(1000)))
    case 1: return .list(.modified(id: id, item: item(id, value)))
    case 2: return .list(.removed(id: id))
    case 3: return .list(.moved(id: id, to: random.below(1000)))
    case 4: return .list(.cleared)
    case 5: return .map(.set(key: id, value: EncodedJSON(value)))
    case 6: return .map(.removed(key: id))
    default: return .map(.cleared)
    }
  }

  private static func item(_ id: String, _ value: JSON) -> EncodedJSON {
    EncodedJSON(["id": .string(id), "data": value])
  }

  @Test("Any mutation reads back equal")
  func facts() throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "Facts"))
    for _ in 0..<500 {
      let fact = Self.fact(&random)
      let bytes = CollectionMutation.encoded([fact])
      let json = try #require(try JSON(parsing: bytes)[0])
      let kind: CollectionMutation.Kind = if case .list = fact { .list } else { .map }
      #expect(CollectionMutation(json, of: kind) == fact)
      #expect(json.encoded() == bytes.dropFirst().dropLast())
    }
  }

  @Test("Any snapshot reads back equal, with the revision of each element")
  func snapshots() throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "Snapshots"))
    for _ in 0..<100 {
      var list = CollectionState.list(ListState())
      var map = CollectionState.map(MapState())
      for revision in (1...(1 + random.below(12))).map({ Revision(number: $0) }) {
        let fact = Self.fact(&random)
        _ = list.reduce([fact], by: .plainList, revision: revision)
        _ = map.reduce([fact], by: .plainMap, revision: revision)
      }
      for state in [list, map] {
        let read = try #require(CollectionState(snapshot: state.snapshot))
        #expect(read.snapshot == state.snapshot)
        #expect(read == state && read.bytes == state.bytes && read.revision == state.revision)
      }
    }
  }

  @Test(
    "Any other JSON is not a mutation",
    arguments: [
      "null", "7", "[]", "{}", #"{"type":"set"}"#, #"{"type":"set","payload":{}}"#,
      #"{"type":"set","payload":{"key":7,"value":1}}"#, #"{"type":"inserted","payload":{"index":0}}"#,
      #"{"type":"inserted","payload":{"index":"0","item":{"id":"a"}}}"#,
      #"{"type":"inserted","payload":{"index":0,"item":{}}}"#, #"{"type":"modified","payload":{"item":[]}}"#,
      #"{"type":"removed","payload":{}}"#, #"{"type":"moved","payload":{"id":"a"}}"#,
      #"{"type":"unheardOf","payload":{}}"#, #"{"payload":{}}"#,
    ]
  )
  func damagedFacts(_ text: String) throws {
    let json = try JSON(parsing: Array(text.utf8))
    #expect(CollectionMutation(json, of: .list) == nil)
    #expect(CollectionMutation(json, of: .map) == nil)
  }

  @Test(
    "Any other text is not a snapshot",
    arguments: ["", "null", "{", "{}", #"{"kind":"list"}"#, #"{"revision":1}"#]
  )
  func damagedSnapshots(_ text: String) {
    #expect(CollectionState(snapshot: Array(text.utf8)) == nil)
  }
}

@Suite("Cursors", .timeLimit(.minutes(10)))
struct CursorTests {
  @Test("A cursor reads back equal", arguments: [nil, "i0", "d0a1", "r", "a-b_c"])
  func roundTrip(_ detail: String?) {
    let cursor = Cursor(store: "0a1b2c3d", revision: 7, registered: 9, detail: detail)
    #expect(cursor.text == "0a1b2c3d.7.9" + (detail.map { ".\($0)" } ?? ""))
    #expect(Cursor(cursor.text) == cursor)
    #expect(Cursor(cursor.text)?.text == cursor.text)
  }

  @Test(
    "A text that differs in any way from the form of a cursor is not a cursor",
    arguments: [
      "", ".", "..", "a.1", "a.1.2.b.c", "a.1.2.", ".1.2", "a.-1.2", "a.+1.2", "a.01.2", "a.1.2 ", " a.1.2", "a.1.x",
      "a.1.99999999999999999999", "é.1.2", "a.1.2.é", "a.1.2.\"", "a b.1.2", "a.١.2", "now",
    ]
  )
  func nonsense(_ text: String) {
    #expect(Cursor(text) == nil)
  }
}
