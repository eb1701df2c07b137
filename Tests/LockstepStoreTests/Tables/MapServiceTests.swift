import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite(
  "The rows of defaults and profiles",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct MapServiceTests {
  private let tables: ServiceTables

  init() async throws {
    tables = try await ServiceTables()
  }

  private static let modules = ["defaults", "profile"]

  private static func collections(of module: String) -> [CollectionName] {
    module == "profile" ? [CollectionName("profile")] : ["standard", "Other_1.2-x"].map(Suite.collection)
  }

  private func play(
    _ facts: ServiceTables.Facts,
    on start: UserState = UserState()
  ) async throws -> UserState {
    let (memory, stored) = try await tables.play(facts, on: start)
    #expect(memory.fingerprint == stored.fingerprint)
    return memory
  }

  @Test("Loading returns exactly the bytes that were written", arguments: modules)
  func content(_ module: String) async throws {
    var random = SeededNumbers(seed: TestSeed.make(for: module))
    let keys = (0..<30).map { "\($0)." + random.text(upTo: 8) } + ["\u{E9}", "e\u{301}"]
    var facts: ServiceTables.Facts = []
    for _ in 0..<400 {
      let collection = random.one(of: Self.collections(of: module))
      let key = random.one(of: keys)
      let fact: MapMutation =
        switch random.below(40) {
        case 0: .cleared
        case 1..<10: .removed(key: key)
        default: .set(key: key, value: EncodedJSON(random.json()))
        }
      facts.append((collection, .map(fact)))
    }
    _ = try await play(facts)
  }

  @Test("A removal is recorded with its revision, also if the collection becomes empty", arguments: modules)
  func removals(_ module: String) async throws {
    let name = Self.collections(of: module)[0]
    let set = MapMutation.set(key: "a", value: EncodedJSON(text: "1"))
    var state = try await play([(name, .map(set)), (name, .map(.removed(key: "a")))])
    #expect(state.map(name).revision == 2 && state.map(name).count == 0)
    state = try await play([(name, .map(set)), (name, .map(.cleared))], on: state)
    #expect(state.map(name).revision == 4 && state.map(name).count == 0)
  }

  @Test("Mutations of a list write nothing", arguments: modules)
  func otherKind(_ module: String) async throws {
    let name = Self.collections(of: module)[0]
    let set = MapMutation.set(key: "a", value: EncodedJSON(text: "1"))
    let state = try await tables.play([(name, .map(set)), (name, .list(.cleared))]).stored
    #expect(state.map(name).count == 1)
  }

  @Test("A user without values has no collections")
  func nothing() async throws {
    #expect(try await play([]).collections.isEmpty)
  }
}
