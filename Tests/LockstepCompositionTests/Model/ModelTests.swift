import Foundation
import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepModules
@testable import LockstepRoutes
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

/// Compares random changes of several users, with restarts and evictions, with a simple model.
/// `LOCKSTEP_TEST_SEED` repeats a run, and `LOCKSTEP_MODEL_STEPS` sets its length.
@Suite("Users' states against a model", .timeLimit(.minutes(10)))
struct ModelTests {
  private static var steps: Int {
    ProcessInfo.processInfo.environment["LOCKSTEP_MODEL_STEPS"].flatMap { Int($0) } ?? 600
  }

  @Test("States, ETags, counts, orders and past states equal the model after every step")
  func everything() async throws {
    var run = try await ModelRun(seed: TestSeed.make(for: "Model"))
    for _ in 0..<Self.steps { try await run.step() }
    try await run.finish()
  }
}

private struct ModelRun {
  private static let suites = ["standard", "other", "third"]
  private static let keys = ["a", "b", "c", "d", "counter", "e\u{301}", "\u{E9}", "'; DROP TABLE defaults; --"]
  private static let ids = (0..<16).map { "photo:\($0)" } + ["e\u{301}", "\u{E9}", "%2F/ \"x\""]

  private struct Keyed {
    let user: Int
    let actions: [(module: String, type: String, payload: JSON)]
    let key: String
    let first: KeyedResponse
    let at: Int64
  }

  private let fixture: SyncFixture
  private var random: SeededNumbers
  private var sessions: [LiveSession] = []
  private var models: [StateModel]
  /// Each user's state at each revision, with the revision of the registered defaults at that time.
  private var past: [[(model: StateModel, registered: Int, at: Int64)]]
  private var registered: [StateModel.Registration] = []
  private var registeredRevision = 0
  private var keyed: [Keyed] = []
  private var keys = 0

  init(seed: UInt64) async throws {
    fixture = try SyncFixture { choices in
      choices.favorites.elements = StateModel.favoritesQuota
      choices.defaults = DefaultsQuota(keys: StateModel.keysQuota, suites: StateModel.suitesQuota)
      choices.history = HistoryPolicy(days: 1, revisions: 50)
      // Room for one or two states, so that others are evicted.
      choices.cacheBytes = 16_000
    }
    random = SeededNumbers(seed: seed)
    models = Array(repeating: StateModel(), count: 3)
    past = Array(repeating: [(StateModel(), 0, 0)], count: 3)
    for number in 0..<3 { sessions.append(try await fixture.user(UInt64(number))) }
  }

  private var now: Int64 { fixture.clock.time.millisecondsSince1970() }

  mutating func step() async throws {
    fixture.clock.advance(by: .seconds(random.below(1200)))
    switch random.below(60) {
    case 0: try fixture.restart()
    case 1: try await register()
    case 2: try await repeatEarlier()
    case 3...5: try await checkPast()
    case 6: try await checkTables()
    default: try await change()
    }
  }

  mutating func finish() async throws {
    try fixture.restart()
    for user in sessions.indices { try await check(user) }
    try await checkTables()
    if TestedStore.isSQLite { #expect(try StoreCheck(of: fixture.files.path).run().findings == []) }
    for _ in 0..<20 { try await checkPast() }
    let favorites = try await fixture.count("SELECT count(*) FROM list_elements WHERE collection = 'favorites'")
    #expect(favorites == models.reduce(0) { $0 + $1.favorites.count })
  }

  // MARK: Changes

  private mutating func change() async throws {
    let user = random.below(models.count)
    let actions = (0..<(random.once(in: 3) ? 1 + random.below(4) : 1)).map { _ in randomAction() }
    let key = random.once(in: 8) ? nextKey() : nil
    let failed = models[user].perform(
      actions,
      at: Timestamp(millisecondsSince1970: now).description,
      registered: registered
    )
    let asked = try actions.map { try fixture.action($0.module, $0.type, $0.payload) }
    do {
      let first = try await fixture.commit(asked, as: sessions[user], key: key)
      if let key { keyed.append(Keyed(user: user, actions: actions, key: key, first: first, at: now)) }
      #expect(!first.isReplay && first.response.status == (failed == nil ? 200 : 400), "\(actions)")
      if failed != nil { #expect(first.response.body?.first == UInt8(ascii: "0") + UInt8(failed ?? 0)) }
    } catch let refused as ActionRefusal {
      #expect(key == nil && refused.index == failed, "\(actions)")
    }
    if models[user].revision == past[user].count { past[user].append((models[user], registeredRevision, now)) }
    past[user][models[user].revision].registered = registeredRevision
    try await check(user)
  }

  private mutating func nextKey() -> String {
    keys += 1
    return "key \(keys)"
  }

  private mutating func randomAction() -> (module: String, type: String, payload: JSON) {
    let id = JSON.string(random.one(of: Self.ids))
    let suite = JSON.string(random.one(of: Self.suites))
    let key = random.one(of: Self.keys)
    switch random.below(22) {
    case 0...4:
      var payload: JSONObject = ["id": id]
      if random.once(in: 2) { payload["title"] = .string(random.text(upTo: 6, controls: true)) }
      if random.once(in: 3) { payload["data"] = random.json() }
      if random.once(in: 2) { payload["index"] = .integer(Int64(random.below(15))) }
      return ("favorites", "add", .object(payload))
    case 5...6:
      var payload: JSONObject = ["id": id]
      if random.once(in: 2) { payload["title"] = random.once(in: 4) ? .null : .string(random.text(upTo: 6)) }
      if random.once(in: 2) { payload["data"] = random.once(in: 6) ? .null : random.json() }
      return ("favorites", "update", .object(payload))
    case 7: return ("favorites", "remove", ["id": id])
    case 8...9: return ("favorites", "move", ["id": id, "index": .integer(Int64(random.below(15)))])
    case 10: return ("favorites", "toggle", ["id": id])
    case 11: return random.once(in: 20) ? ("favorites", "clear", [:]) : ("favorites", "toggle", ["id": id])
    case 12...15:
      let value: JSON = key == "counter" ? .integer(Int64(random.below(100))) : random.json()
      return ("defaults", "set", ["suite": suite, "key": .string(key), "value": value])
    case 16: return ("defaults", "remove", ["suite": suite, "key": .string(key)])
    case 17:
      let values = (0..<random.below(4)).map { _ in
        (random.one(of: Array(Self.keys.prefix(4))), random.once(in: 3) ? JSON.null : random.json())
      }
      return ("defaults", "merge", ["suite": suite, "values": .object(JSONObject(values))])
    case 18...19:
      return ("defaults", "increment", ["suite": suite, "key": "counter", "by": .integer(Int64(random.below(9)) - 4)])
    case 20 where random.once(in: 5): return ("defaults", "clear", ["suite": suite])
    default: return ("profile", "save", ["position": .string("P\(random.below(4))")])
    }
  }

  private mutating func register() async throws {
    let suite = random.one(of: Self.suites)
    let key = random.one(of: ["a", "b", "counter"])
    let text = random.once(in: 3) ? nil : "\(random.below(5))"
    let present = registered.last { $0.suite == suite && $0.key == key }?.text
    if text != present {
      registeredRevision += 1
      registered.append(.init(revision: registeredRevision, suite: suite, key: key, text: text))
    }
    let after = try await fixture.registry.change(suite) { _ in [(key, text.map { Array($0.utf8) })] }
    #expect(after.revision.number == registeredRevision)
  }

  private mutating func repeatEarlier() async throws {
    let oldest = now - IdempotencyRecords.lifetime
    keyed.removeAll { $0.at <= oldest }
    guard !keyed.isEmpty else { return }
    let earlier = random.one(of: keyed)
    let asked = try earlier.actions.map { try fixture.action($0.module, $0.type, $0.payload) }
    let again = try await fixture.commit(asked, as: sessions[earlier.user], key: earlier.key)
    #expect(again.isReplay && again.response == earlier.first.response)
    try await check(earlier.user)
  }

  // MARK: Comparisons

  private func view(_ state: UserState, at registered: Int) -> StateView {
    StateView(
      store: SyncFixture.store,
      state: state,
      registered: fixture.registry.current,
      at: Revision(number: registered)
    )
  }

  private func compare(_ view: StateView, with model: StateModel, at registered: Int) throws {
    let expected = model.resources(
      store: SyncFixture.store,
      suites: Self.suites,
      registered: self.registered,
      at: registered
    )
    for (resource, tag, body) in expected {
      let representation = try #require(try resource.representation(of: view), "\(resource)")
      // Stop at the first difference, because it causes others.
      let bytes = try #require(representation.body.joined)
      let (gotTag, gotBody) = (representation.cursor.text, String(decoding: bytes, as: UTF8.self))
      try #require(gotTag == tag && ElementKey(gotBody) == ElementKey(body), "\(resource)")
    }
  }

  /// Compares the present state of a user, which may be in memory or not.
  private func check(_ user: Int) async throws {
    let state = try await fixture.state(of: sessions[user])
    #expect(state.revision.number == models[user].revision)
    try compare(view(state, at: registeredRevision), with: models[user], at: registeredRevision)
  }

  /// Compares the tables, the journal and the memory with each other.
  private func checkTables() async throws {
    for session in sessions {
      let present = try await fixture.state(of: session).fingerprint
      #expect(try await fixture.stored(session).fingerprint == present)
      #expect(try await fixture.rebuilt(session).fingerprint == present)
    }
  }

  private mutating func checkPast() async throws {
    let user = random.below(models.count)
    let revision = random.below(past[user].count)
    let (model, registered, at) = past[user][revision]
    var whole = UserState()
    for module in fixture.modules.all {
      guard let state = try await fixture.past(sessions[user], at: Revision(number: revision), module.name) else {
        // Only an old state, beyond the number of kept revisions, may be missing.
        #expect(revision < models[user].revision - 50 && now - at > 86_400_000)
        return
      }
      whole.revision = state.revision
      whole.collections.merge(state.collections) { _, last in last }
    }
    #expect(whole.revision.number == revision)
    try compare(view(whole, at: registered), with: model, at: registered)
  }
}
