import LockstepJSON
import LockstepPostgreSQL
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("The ledger", .timeLimit(.minutes(10)))
struct LedgerTests {
  private typealias Pending = Task<KeyedResponse, any Error>

  private static let standard = Suite.collection("standard")

  private func text(_ keyed: KeyedResponse) -> String {
    String(decoding: keyed.response.body ?? [], as: UTF8.self)
  }

  /// Begins a transaction. Returns when it waits behind the unit that blocks the writer.
  private func begin(
    _ actions: [UserAction],
    as session: LiveSession,
    key: String? = nil,
    in fixture: SyncFixture,
    place: Int
  ) async -> Pending {
    let transaction = SyncFixture.transaction(actions, as: session, key: key)
    let ledger = fixture.ledger
    let task = Pending { try await ledger.settle(transaction) }
    await fixture.waiting(place)
    return task
  }

  // MARK: One transaction

  @Test(
    "A transaction is one revision; each action sees the results of the ones before it, and each has a journal entry"
  )
  func batch() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let committed = try await fixture.commit(
      [
        try fixture.set("count", 1), try fixture.action("defaults", "increment", ["key": "count", "by": 2]),
        try fixture.set("count", 3), try fixture.action("favorites", "toggle", ["id": "a"]),
        try fixture.action("favorites", "toggle", ["id": "a"]),
      ],
      as: ann
    )
    let lines = text(committed).split(separator: "\n")
    #expect(lines.count == 5)
    #expect(lines[1] == #"[{"type":"set","payload":{"key":"count","value":3}}]"#)
    #expect(lines[2] == "[]")
    #expect(lines[4] == #"[{"type":"removed","payload":{"id":"a"}}]"#)
    let state = try await fixture.state(of: ann)
    #expect(state.revision == 1 && state.map(Self.standard)["count"]?.revision == 1)
    let entries = try await fixture.store.readers.read {
      try Journal(connection: $0).entries(of: ann.user, after: 0, upTo: 1)
    }
    #expect(entries.map(\.revision) == [1, 1, 1, 1] && entries.map(\.position) == [0, 1, 3, 4])
    #expect(
      entries.map(\.collection.description) == ["defaults/standard", "defaults/standard", "favorites", "favorites"]
    )
    #expect(entries.allSatisfy { $0.session == ann.id && $0.at.millisecondsSince1970 == 1_000_000 })
    #expect(entries[1].action == #"{"type":"increment","payload":{"suite":"standard","key":"count","by":2}}"#)
    #expect(entries[1].mutations == lines[1])
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
    #expect(try await fixture.rebuilt(ann).fingerprint == state.fingerprint)
  }

  @Test("If one action is refused, the transaction changes nothing")
  func refused() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    let before = try await fixture.state(of: ann).fingerprint
    let error = await #expect(throws: ActionRefusal.self) {
      try await fixture.commit(
        [
          try fixture.set("a", 2), try fixture.action("favorites", "add", ["id": "x"]),
          try fixture.action("defaults", "remove", ["key": "none"]), try fixture.set("b", 2),
        ],
        as: ann
      )
    }
    #expect(error?.index == 2 && error?.refusal.withoutWords == .notFound)
    #expect(try await fixture.state(of: ann).fingerprint == before)
    #expect(try await fixture.stored(ann).fingerprint == before)
    try await fixture.commit([try fixture.set("a", 3)], as: ann)
    #expect(try await fixture.state(of: ann).revision == 2)
  }

  @Test("A transaction that changes nothing makes no revision and notifies no waiter")
  func nothing() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    try await fixture.commit([], as: ann)
    #expect(try await fixture.state(of: ann).revision == 1)
    #expect(fixture.announced.revisions == [1])
    #expect(try await fixture.count("SELECT count(*) FROM journal") == 1)
  }

  @Test("A condition sees the state before the transaction, and if it throws, nothing changes")
  func conditions() async throws {
    struct Changed: Error {}
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    await #expect(throws: Changed.self) {
      try await fixture.commit([try fixture.set("a", 2)], as: ann) { view in
        #expect(view.state.revision == 1)
        throw Changed()
      }
    }
    #expect(try await fixture.state(of: ann).revision == 1)
  }

  @Test("A transaction of an ended session or of an erased user changes nothing")
  func ended() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let actions = [try fixture.set("a", 1)]
    var waiting: Pending?
    try await fixture.withWriterHeld {
      waiting = await begin(actions, as: ann, in: fixture, place: 1)
      ann.end()
    }
    await #expect(throws: SessionEndedError.self) { try await waiting?.value }
    let erased = SyncFixture.session(2)
    await #expect {
      try await fixture.commit(actions, as: erased)
    } throws: {
      ($0 as? SQLiteError)?.kind == .constraint || $0 is SessionEndedError
    }
    #expect(try await fixture.count("SELECT count(*) FROM journal") == 0)
    #expect(fixture.announced.revisions == [])
  }

  // MARK: Slow users

  /// Transactions that take time by the clock of a fixture, in the order in which they were decided.
  private struct Slow {
    let fixture: SyncFixture
    let order = LockedState<[String]>([])

    func transaction(_ name: String, of session: LiveSession, taking time: Duration, refused: Bool = false) throws
      -> Transaction
    {
      let (clock, order) = (fixture.clock, order)
      let key = refused ? "a" : name
      return SyncFixture.transaction([try fixture.set(key, 1)], as: session) { _ in
        clock.advance(by: time)
        order.withLock { $0.append(name) }
        if refused { throw Refusal.conflict(name) }
      }
    }
  }

  @Test("Slow transactions of one user run after those of others, also if they are refused", arguments: [false, true])
  func slowUser(refused: Bool) async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    for session in [ann, bob] { try await fixture.commit([try fixture.set("a", 0)], as: session) }
    let slow = Slow(fixture: fixture)
    try await withThrowingTaskGroup { group in
      try await fixture.withWriterHeld {
        let rows = [("a1", ann), ("a2", ann), ("a3", ann), ("b1", bob), ("b2", bob)]
        for (index, (name, session)) in rows.enumerated() {
          let isAnn = session.user == ann.user
          let transaction = try slow.transaction(
            name,
            of: session,
            taking: isAnn ? .milliseconds(20) : .zero,
            refused: isAnn && refused
          )
          group.addTask { [ledger = fixture.ledger] in _ = try? await ledger.settle(transaction) }
          await fixture.waiting(index + 1)
        }
      }
      await eventually { slow.order.withLock { $0.contains("b2") } }
      // The rest of the slow user.
      fixture.clock.advance(by: .seconds(1))
      try await group.waitForAll()
    }
    #expect(slow.order.withLock { $0 } == ["a1", "b1", "b2", "a2", "a3"])
  }

  @Test(
    "If deciding a group takes too long, the group is committed, and the next one decides the rest in order",
    .enabled("A store in SQLite decides and writes at the same time") { !TestedStore.isSQLite }
  )
  func timeOfGroup() async throws {
    let fixture = try SyncFixture()
    var users: [LiveSession] = []
    for number: UInt64 in 1...7 {
      users.append(try await fixture.user(number))
      try await fixture.commit([try fixture.set("a", 0)], as: users[users.count - 1])
    }
    let slow = Slow(fixture: fixture)
    let commits = fixture.store.writer.statistics.commits
    try await withThrowingTaskGroup { group in
      try await fixture.withWriterHeld {
        for (index, session) in users.enumerated() {
          // Six of them take 50 ms together. No user takes 10 ms, which would make it slow.
          let transaction = try slow.transaction("\(index)", of: session, taking: .milliseconds(9))
          group.addTask { [ledger = fixture.ledger] in _ = try await ledger.settle(transaction) }
          await fixture.waiting(index + 1)
        }
      }
      try await group.waitForAll()
    }
    #expect(slow.order.withLock { $0 } == (0..<7).map { "\($0)" })
    #expect(fixture.store.writer.statistics.commits == commits + SyncFixture.commitsOfHeldGroup + 1)
  }

  // MARK: Groups

  @Test("Transactions in one group see each other, and readers see them only once they are on disk")
  func group() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    _ = try await fixture.state(of: ann)
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    let refused = try fixture.action("defaults", "remove", ["key": "none"])
    var waiting: [Pending] = []
    let commits = fixture.store.writer.statistics.commits
    try await fixture.withWriterHeld {
      for (actions, session) in [
        ([increment], ann), ([increment], bob), ([increment, refused], ann), ([increment], ann),
      ] {
        waiting.append(await begin(actions, as: session, in: fixture, place: waiting.count + 1))
      }
      #expect(fixture.cache.state(of: ann.user)?.state.revision == 0)
      #expect(fixture.announced.revisions == [])
    }
    _ = try await waiting[0].value
    _ = try await waiting[1].value
    await #expect(throws: ActionRefusal.self) { try await waiting[2].value }
    #expect(text(try await waiting[3].value).contains(#""value":2"#))
    #expect(fixture.store.writer.statistics.commits == commits + SyncFixture.commitsOfHeldGroup)
    #expect(fixture.announced.revisions == [1, 1, 2])
    for session in [ann, bob] {
      let state = try await fixture.state(of: session)
      #expect(state.revision == (session.user == ann.user ? 2 : 1))
      #expect(try await fixture.stored(session).fingerprint == state.fingerprint)
      #expect(try await fixture.rebuilt(session).fingerprint == state.fingerprint)
    }
  }

  @Test("While the state of one user is read from the store, other users' transactions are committed")
  func coldUser() async throws {
    let cold = SyncFixture.session(1).user
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let fixture = try SyncFixture { choices in
      choices.willLoad = { user in
        guard user == cold else { return }
        arrival.open()
        gate.pass()
      }
    }
    defer { gate.open() }
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    try await fixture.commit([try fixture.set("count", 1)], as: bob)
    let ledger = fixture.ledger
    let transaction = SyncFixture.transaction([try fixture.set("count", 1)], as: ann)
    let waiting = Pending { try await ledger.settle(transaction) }
    await arrival.opened()
    try await fixture.commit([try fixture.set("count", 2)], as: bob)
    gate.open()
    _ = try await waiting.value
    #expect(try await fixture.state(of: ann).revision == 1)
    #expect(try await fixture.state(of: bob).revision == 2)
  }

  @Test("If no state stays in memory, concurrent transactions of a user still build on each other")
  func withoutCache() async throws {
    let fixture = try SyncFixture { $0.cacheBytes = 1 }
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    let users = [try await fixture.user(1), try await fixture.user(2), try await fixture.user(3)]
    try await withThrowingTaskGroup { group in
      for _ in 0..<20 {
        for user in users { group.addTask { try await fixture.commit([increment], as: user) } }
      }
      try await group.waitForAll()
    }
    for user in users {
      let state = try await fixture.state(of: user)
      #expect(state.revision == 20 && state.map(Self.standard)["count"]?.json == 20)
      #expect(try await fixture.rebuilt(user).fingerprint == state.fingerprint)
    }
  }

  @Test("A transaction builds on earlier ones even if these are not published yet")
  func whileTelling() async throws {
    let gates = LockedState<[UserID: (arrival: ThreadGate, gate: ThreadGate)]>([:])
    let fixture = try SyncFixture { choices in
      choices.willAnnounce = { user in
        guard let held = gates.withLock({ $0.removeValue(forKey: user) }) else { return }
        held.arrival.open()
        held.gate.pass()
      }
    }
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let (annHeld, bobHeld) = ((arrival: ThreadGate(), gate: ThreadGate()), (arrival: ThreadGate(), gate: ThreadGate()))
    gates.withLock { $0 = [ann.user: annHeld, bob.user: bobHeld] }
    defer { for held in [annHeld, bobHeld] { held.gate.open() } }
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    var waiting: [Pending] = []
    try await fixture.withWriterHeld { waiting.append(await begin([increment], as: ann, in: fixture, place: 1)) }
    await annHeld.arrival.opened()
    var units = fixture.store.writer.statistics.units
    try await fixture.withWriterHeld {
      waiting.append(await begin([increment], as: bob, in: fixture, place: 1))
      waiting.append(await begin([increment], as: ann, in: fixture, place: 2))
    }
    await eventually { fixture.store.writer.statistics.units == units + 3 }
    annHeld.gate.open()
    // Ann's first transaction is published. Her second one is on disk, and waits until Bob's is
    // published.
    await bobHeld.arrival.opened()
    #expect(fixture.cache.state(of: ann.user)?.state.revision == 1)
    units = fixture.store.writer.statistics.units
    let ledger = fixture.ledger
    let last = SyncFixture.transaction([increment], as: ann)
    waiting.append(Pending { try await ledger.settle(last) })
    await eventually { fixture.store.writer.statistics.units == units + 1 }
    bobHeld.gate.open()
    for pending in waiting { _ = try await pending.value }
    let state = try await fixture.state(of: ann)
    #expect(state.revision == 3)
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
    #expect(try await fixture.rebuilt(ann).fingerprint == state.fingerprint)
  }

  @Test(
    "A group that fails as a whole leaves nothing in memory or on disk, and later transactions succeed",
    arguments: [true, false]
  )
  func failingGroup(isHot: Bool) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("count", 10)], as: ann)
    if !isHot { try fixture.restart() }
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    var lost: [Pending] = []
    try await fixture.withWriterHeld {
      for place in 1...2 { lost.append(await begin([increment], as: ann, key: "\(place)", in: fixture, place: place)) }
      try await fixture.breakGroup()
    }
    for task in lost {
      await #expect {
        try await task.value
      } throws: {
        $0 is SQLiteError || $0 is PostgreSQLError
      }
    }
    try await fixture.repair()
    #expect(fixture.announced.revisions == [1])
    #expect(try await fixture.state(of: ann).revision == 1)
    // The same requests are applied now, once each, because no response to them was stored.
    for place in 1...2 { #expect(try await fixture.commit([increment], as: ann, key: "\(place)").isReplay == false) }
    let state = try await fixture.state(of: ann)
    #expect(state.revision == 3 && state.map(Self.standard)["count"]?.encoded == Array("12".utf8))
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
    #expect(try await fixture.rebuilt(ann).fingerprint == state.fingerprint)
  }

  @Test(
    "A transaction sees defaults that were registered before it in the same group",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteGroups),
    arguments: [true, false]
  )
  func registered(isHot: Bool) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    // Then the ledger decides before the transaction is queued.
    if isHot { _ = try await fixture.state(of: ann) }
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    var waiting: Pending?
    try await fixture.withWriterHeld {
      let registry = fixture.registry
      let change = Task { try await registry.change("standard") { _ in [("count", Array("100".utf8))] } }
      await fixture.waiting(1)
      waiting = await begin([increment], as: ann, in: fixture, place: 2)
      _ = change
    }
    #expect(text(try #require(try await waiting?.value)).contains(#""value":101"#))
  }

  @Test("A transaction is decided again if another one of the user runs after the early decision")
  func overtaken() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    _ = try await fixture.state(of: ann)
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    let (ledger, outcomes) = (fixture.ledger, LockedState<[Bool]>([]))
    try await fixture.withWriterHeld {
      let (early, late) = (ledger.reserve(ann.user), ledger.reserve(ann.user))
      for reservation in [late, early] {
        if reservation.needsLoading { try await ledger.load(reservation, from: nil) }
        try ledger.submit(SyncFixture.transaction([increment], as: ann), reservation) { result in
          outcomes.withLock { $0.append((try? result.get()) != nil) }
        }
      }
    }
    await eventually { outcomes.withLock { $0.count } == 2 }
    #expect(outcomes.withLock { $0 } == [true, true])
    let state = try await fixture.state(of: ann)
    #expect(state.revision == 2 && state.map(Self.standard)["count"]?.json == 2)
    #expect(try await fixture.rebuilt(ann).fingerprint == state.fingerprint)
  }

  // MARK: Idempotency

  @Test("The same key and request get the first response, also after a restart, and nothing changes")
  func idempotent() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let increment = try fixture.action("defaults", "increment", ["key": "count", "by": 1])
    let first = try await fixture.commit([increment], as: ann, key: "k")
    for isRestarted in [false, true] {
      if isRestarted { try fixture.restart() }
      let again = try await fixture.commit([increment], as: ann, key: "k")
      #expect(again.isReplay && again.response == first.response)
    }
    #expect(try await fixture.state(of: ann).revision == 1)
    // Another user's same key is another key.
    #expect(try await !fixture.commit([increment], as: bob, key: "k").isReplay)
    await #expect(throws: IdempotencyKeyReusedError.self) {
      try await fixture.commit([try fixture.set("count", 7)], as: ann, key: "k")
    }
    fixture.clock.advance(by: .seconds(24 * 3600 - 1))
    #expect(try await fixture.commit([increment], as: ann, key: "k").isReplay)
    fixture.clock.advance(by: .seconds(1))
    #expect(try await !fixture.commit([increment], as: ann, key: "k").isReplay)
    #expect(try await fixture.state(of: ann).revision == 2)
  }

  @Test("A refusal is stored as a response too, even if the state would allow the action later; old keys are deleted")
  func refusalKept() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let remove = try fixture.action("defaults", "remove", ["key": "a"])
    let first = try await fixture.commit([try fixture.set("b", 1), remove], as: ann, key: "k")
    #expect(first.response.status == 400 && !first.isReplay)
    #expect(try await fixture.state(of: ann).revision == 0)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    let again = try await fixture.commit([try fixture.set("b", 1), remove], as: ann, key: "k")
    #expect(again.isReplay && again.response == first.response)
    #expect(try await fixture.state(of: ann).revision == 1)
    fixture.clock.advance(by: .seconds(24 * 3600))
    try await fixture.commit([remove], as: ann, key: "other")
    // In PostgreSQL, the upkeep deletes old keys.
    if TestedStore.isSQLite {
      #expect(try await fixture.count("SELECT count(*) FROM idempotency_keys") == 1)
    }
  }

  @Test("The key of a running request is in use for that user, and free again after any outcome")
  func inUse() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let remove = try fixture.action("defaults", "remove", ["key": "none"])
    let set = try fixture.set("a", 1)
    var waiting: [Pending] = []
    try await fixture.withWriterHeld {
      waiting.append(await begin([remove], as: ann, key: "\u{E9}", in: fixture, place: 1))
      await #expect(throws: IdempotencyKeyInUseError.self) {
        try await fixture.commit([remove], as: ann, key: "\u{E9}")
      }
      waiting.append(await begin([set], as: ann, key: "e\u{301}", in: fixture, place: 2))
      waiting.append(await begin([set], as: bob, key: "\u{E9}", in: fixture, place: 3))
      try await fixture.breakGroup()
    }
    for task in waiting { _ = await task.result }
    try await fixture.repair()
    for session in [ann, bob] {
      #expect(try await !fixture.commit([set], as: session, key: "\u{E9}").isReplay)
    }
  }

  @Test("A server that is stopping refuses transactions at once")
  func stopping() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    fixture.store.close()
    await #expect(throws: PoolShutDownError.self) {
      try await fixture.commit([try fixture.set("a", 1)], as: ann, key: "k")
    }
    await #expect(throws: PoolShutDownError.self) {
      try await fixture.commit([try fixture.set("a", 1)], as: ann, key: "k")
    }
    await #expect(throws: PoolShutDownError.self) {
      try await fixture.registry.change("standard") { _ in [("a", Array("1".utf8))] }
    }
  }
}
