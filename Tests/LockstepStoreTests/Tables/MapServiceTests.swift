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
  "The tables of defaults and profiles",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct MapServiceTests {
  private let tables: ServiceTables

  init() async throws {
    tables = try await ServiceTables()
  }

  private static let services: [any CollectionTable] = [
    DefaultsModule(quota: DefaultsQuota()).userModule.table, UserModule.profile.table,
  ]

  /// The collections of a table.
  private static func collections(of service: any CollectionTable) -> [CollectionName] {
    service.module == "profile"
      ? [CollectionName("profile")] : ["standard", "Other_1.2-x"].map(Suite.collection)
  }

  private func play(
    _ facts: ServiceTables.Facts,
    on start: UserState = UserState(),
    into service: any CollectionTable
  ) async throws -> UserState {
    let (memory, stored) = try await tables.play(facts, on: start, into: service)
    #expect(memory.fingerprint == stored.fingerprint)
    return memory
  }

  @Test("Loading returns exactly the bytes that were written", arguments: services)
  func content(_ service: any CollectionTable) async throws {
    var random = SeededNumbers(seed: TestSeed.make(for: service.module))
    let keys = (0..<30).map { "\($0)." + random.text(upTo: 8) } + ["\u{E9}", "e\u{301}"]
    var facts: ServiceTables.Facts = []
    for _ in 0..<400 {
      let collection = random.one(of: Self.collections(of: service))
      let key = random.one(of: keys)
      let fact: MapMutation =
        switch random.below(40) {
        case 0: .cleared
        case 1..<10: .removed(key: key)
        default: .set(key: key, value: EncodedJSON(random.json()))
        }
      facts.append((collection, .map(fact)))
    }
    _ = try await play(facts, into: service)
  }

  @Test("A removal is recorded with its revision, also if the collection becomes empty", arguments: services)
  func removals(_ service: any CollectionTable) async throws {
    let name = Self.collections(of: service)[0]
    let set = MapMutation.set(key: "a", value: EncodedJSON(text: "1"))
    var state = try await play([(name, .map(set)), (name, .map(.removed(key: "a")))], into: service)
    #expect(state.map(name).revision == 2 && state.map(name).count == 0)
    state = try await play([(name, .map(set)), (name, .map(.cleared))], on: state, into: service)
    #expect(state.map(name).revision == 4 && state.map(name).count == 0)
  }

  @Test("Mutations of a list write nothing", arguments: services)
  func otherKind(_ service: any CollectionTable) async throws {
    let name = Self.collections(of: service)[0]
    let set = MapMutation.set(key: "a", value: EncodedJSON(text: "1"))
    let state = try await tables.play([(name, .map(set)), (name, .list(.cleared))], into: service).stored
    #expect(state.map(name).count == 1)
  }

  @Test("A user without values has no collections", arguments: services)
  func nothing(_ service: any CollectionTable) async throws {
    #expect(try await play([], into: service).collections.isEmpty)
  }
}
