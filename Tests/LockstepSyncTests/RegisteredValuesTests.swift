import LockstepJSON
import LockstepSQLite
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite("Registered defaults", .timeLimit(.minutes(10)))
struct RegisteredValuesTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private static let registered: RegisteredDefaults = {
    var registered = RegisteredDefaults()
    registered.apply("theme", in: "standard", value: bytes("1"), revision: 1)
    registered.apply("size", in: "standard", value: bytes("2"), revision: 1)
    registered.apply("theme", in: "other", value: bytes("3"), revision: 2)
    registered.apply("theme", in: "standard", value: bytes("4"), revision: 3)
    registered.apply("size", in: "standard", value: nil, revision: 5)
    return registered
  }()

  private static func texts(_ values: [ElementKey: MapValue]) -> [ElementKey: String] {
    values.mapValues { String(decoding: $0.encoded, as: UTF8.self) }
  }

  @Test("The values of every past revision are known")
  func past() {
    let registered = Self.registered
    func standard(at revision: Revision) -> [ElementKey: String] {
      Self.texts(registered.values(of: "standard", at: revision))
    }
    #expect(registered.revision == 5)
    #expect(standard(at: 0) == [:])
    #expect(standard(at: 1) == ["theme": "1", "size": "2"])
    #expect(standard(at: 2) == ["theme": "1", "size": "2"])
    #expect(standard(at: 4) == ["theme": "4", "size": "2"])
    #expect(standard(at: 5) == ["theme": "4"])
    #expect(Self.texts(registered.values(of: "standard")) == standard(at: 5))
    #expect(registered.values(of: "none").isEmpty)
    let asked: [(String, Revision)] = [
      ("theme", 0), ("theme", 2), ("theme", 9), ("size", 4), ("size", 5), ("none", 9),
    ]
    for (key, revision) in asked {
      #expect(
        registered.value(of: key, in: "standard", at: revision)
          == registered.values(of: "standard", at: revision)[ElementKey(key)]
      )
    }
  }

  @Test("The visible values change only with defaults that the user has not set")
  func shown() {
    let value = MapValue(encoded: [], revision: 1)
    func shown(_ own: [ElementKey], at revision: Revision = 5) -> Revision {
      let own = Dictionary(uniqueKeysWithValues: own.map { ($0, value) })
      return Self.registered.shownRevision(of: "standard", behind: MapState(own).values, at: revision)
    }
    #expect(shown([]) == 5)
    #expect(shown(["size"]) == 3)
    #expect(shown(["theme"]) == 5)
    #expect(shown(["theme"], at: 4) == 1)
    #expect(shown(["theme", "size"]) == 0)
    #expect(Self.registered.shownRevision(of: "none", behind: MapState().values, at: 5) == 0)
  }

  // MARK: On disk

  private static func set(_ key: String, _ value: String?) -> (key: String, value: [UInt8]?) {
    (key, value.map { Array($0.utf8) })
  }

  @Test("A change makes one revision, a change of nothing makes none, and all values survive a restart")
  func ledger() async throws {
    let fixture = try SyncFixture()
    #expect(fixture.registry.current.revision == 0)
    var after = try await fixture.registry.change("standard") { _ in
      [Self.set("a", "1"), Self.set("\u{E9}", "2"), Self.set("e\u{301}", "3")]
    }
    #expect(after.revision == 1 && fixture.registry.current.revision == 1)
    after = try await fixture.registry.change("standard") { present in
      #expect(present.values(of: "standard").count == 3)
      return [Self.set("a", "1"), Self.set("none", nil)]
    }
    #expect(after.revision == 1)
    after = try await fixture.registry.change("standard") { _ in [Self.set("a", nil), Self.set("b", "4")] }
    #expect(after.revision == 2)
    try fixture.restart()
    let loaded = fixture.registry.current
    #expect(loaded.revision == 2)
    #expect(Self.texts(loaded.values(of: "standard")) == ["\u{E9}": "2", "e\u{301}": "3", "b": "4"])
    #expect(loaded.values(of: "standard", at: 1).count == 3)
  }

  private struct Refused: Error {}

  @Test("Changes of a group see each other, and readers see them only once they are on disk")
  func group() async throws {
    let fixture = try SyncFixture()
    let registry = fixture.registry
    var changes: [Task<RegisteredDefaults, any Error>] = []
    let commits = fixture.store.writer.statistics.commits
    try await fixture.withWriterHeld {
      for number in 1...3 {
        changes.append(
          Task {
            try await registry.change("standard") { present in
              if number == 2 { throw Refused() }
              return [Self.set("count", "\(present.values(of: "standard").count)"), Self.set("\(number)", "true")]
            }
          }
        )
        await fixture.waiting(number)
      }
      #expect(registry.current.revision == 0)
    }
    #expect(try await changes[0].value.revision >= 1)
    await #expect(throws: Refused.self) { try await changes[1].value }
    #expect(try await changes[2].value.revision == 2)
    #expect(Self.texts(registry.current.values(of: "standard")) == ["count": "2", "1": "true", "3": "true"])
    if TestedStore.isSQLite { #expect(fixture.store.writer.statistics.commits == commits + 1) }
  }

  @Test(
    "A failed group leaves nothing in memory or on disk",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteGroups)
  )
  func failing() async throws {
    let fixture = try SyncFixture()
    let registry = fixture.registry
    var lost: Task<RegisteredDefaults, any Error>?
    try await fixture.withWriterHeld {
      lost = Task { try await registry.change("standard") { _ in [Self.set("a", "1")] } }
      await fixture.waiting(1)
      try fixture.submitUndoing()
    }
    await #expect(throws: SQLiteError.self) { try await lost?.value }
    #expect(registry.current.revision == 0 && registry.latest.revision == 0)
    #expect(try await registry.change("standard") { _ in [Self.set("b", "2")] }.revision == 1)
    try fixture.restart()
    #expect(Self.texts(fixture.registry.current.values(of: "standard")) == ["b": "2"])
  }
}
