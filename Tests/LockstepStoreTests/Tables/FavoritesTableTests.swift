import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The rows of favorites", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct FavoritesServiceTests {
  private let tables: ServiceTables

  init() async throws {
    tables = try await ServiceTables()
  }

  private static func item(_ id: String, title: String? = nil, data: JSON? = nil, updated: String = "then")
    -> EncodedJSON
  {
    var object: JSONObject = ["id": .string(id)]
    if let title { object["title"] = .string(title) }
    if let data { object["data"] = data }
    object["addedAt"] = "then"
    object["updatedAt"] = .string(updated)
    return EncodedJSON(.object(object))
  }

  private static func insert(_ id: String, at index: Int) -> ListMutation {
    .inserted(id: id, item: item(id), index: index)
  }

  private func play(_ facts: [ListMutation], on start: UserState = UserState()) async throws -> UserState {
    let facts = facts.map { (CollectionName("favorites"), CollectionMutation.list($0)) }
    let (memory, stored) = try await tables.play(facts, on: start)
    #expect(memory.fingerprint == stored.fingerprint)
    return memory
  }

  private func ids(_ state: UserState) -> [String] { state.list(CollectionName("favorites")).items.map(\.id.text) }

  @Test("Loading returns exactly the bytes that were written")
  func content() async throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "FavoritesService"))
    var facts: [ListMutation] = []
    for number in 0..<200 {
      let id = "\(number)." + random.text(upTo: 8)
      let title = random.once(in: 3) ? nil : random.text(upTo: 20, controls: true)
      let data = random.once(in: 3) ? nil : random.json()
      facts.append(.inserted(id: id, item: Self.item(id, title: title, data: data), index: random.below(number + 1)))
      if random.once(in: 2) {
        let changed = Self.item(id, title: random.text(upTo: 5), data: random.json(), updated: "now")
        facts.append(.modified(id: id, item: changed))
      }
    }
    _ = try await play(facts)
  }

  @Test("Ids with different bytes have different rows")
  func names() async throws {
    let state = try await play([
      Self.insert("\u{E9}", at: 0), Self.insert("e\u{301}", at: 1), .moved(id: "e\u{301}", to: 0),
      .removed(id: "\u{E9}"),
    ])
    #expect(ids(state).map { $0.unicodeScalars.count } == [2])
  }

  @Test("Elements stay in order after many insertions at any place", arguments: [0, 1, 500, .max])
  func onePlace(_ place: Int) async throws {
    let start = try await play((0..<8).map { Self.insert("s\($0)", at: $0) })
    let state = try await play((0..<300).map { Self.insert("n\($0)", at: place) }, on: start)
    #expect(state.list(CollectionName("favorites")).count == 308)
  }

  @Test("Inserting or moving to a place without a free rank spreads the elements out")
  func renumbering() async throws {
    var state = try await play((0..<20).map { Self.insert("\($0)", at: $0) })
    // Leave no free rank between two rows.
    try await tables.change("UPDATE list_elements SET rank = id")
    state = try await play([Self.insert("new", at: 7)], on: state)
    #expect(ids(state)[7] == "new")
    try await tables.change(
      "UPDATE list_elements SET rank = 1 + (SELECT rank FROM list_elements WHERE id = 'new') WHERE id = '7'"
    )
    state = try await play([.moved(id: "0", to: 7)], on: state)
    #expect(ids(state)[6...8] == ["new", "0", "7"])
  }

  @Test("There is room at both ends of the range of ranks")
  func ends() async throws {
    var state = try await play((0..<4).map { Self.insert("\($0)", at: $0) })
    try await tables.change("UPDATE list_elements SET rank = (1 << 62) - 4 + id")
    state = try await play([Self.insert("last", at: 4), .moved(id: "0", to: 4)], on: state)
    #expect(ids(state) == ["1", "2", "3", "last", "0"])
    try await tables.change(
      "UPDATE list_elements SET rank = -(1 << 62) + 1 + CASE id WHEN '1' THEN 0 WHEN '2' THEN 1 WHEN '3' THEN 2 ELSE 3 + (id = '0') END"
    )
    state = try await play([Self.insert("first", at: 0), .moved(id: "0", to: 0)], on: state)
    #expect(ids(state) == ["0", "first", "1", "2", "3", "last"])
  }

  @Test("A removal is recorded with its revision, also if the collection becomes empty")
  func removals() async throws {
    var state = try await play([Self.insert("a", at: 0), Self.insert("b", at: 1), .removed(id: "b")])
    #expect(state.list(CollectionName("favorites")).revision == 3)
    state = try await play([.removed(id: "a")], on: state)
    #expect(state.list(CollectionName("favorites")).revision == 4)
    state = try await play([Self.insert("a", at: 0), .cleared], on: state)
    #expect(state.list(CollectionName("favorites")).revision == 6)
    #expect(try await tables.fixture.count("SELECT count(*) FROM list_elements") == 0)
  }

  @Test("The rows of users are separate")
  func users() async throws {
    let mine = try await play([Self.insert("a", at: 0)])
    let other = try await tables.fixture.user(2)
    let user = other.user
    try await tables.fixture.store.writer.write { connection in
      let place = MutationLocation(user: user, collection: CollectionName("favorites"), revision: 1)
      let inserted = ListEdit.inserted("a", Self.item("a"), ListGap(at: 0, of: ListState()))
      let rows = CollectionRows(connection: try connection.sqlite)
      try rows.apply(.list([inserted]), at: place)
      try rows.apply(.list([.cleared]), at: place)
    }
    #expect(try await play([], on: mine).revision == 1)
  }
}
