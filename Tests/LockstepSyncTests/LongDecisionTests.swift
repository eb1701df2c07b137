import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Transactions whose decision takes long", .timeLimit(.minutes(10)))
struct LongDecisionTests {
  private static let standard = Suite.collection("standard")
  private static let longBytes = 16 * (WorkBudget.short + 1)

  /// An action that takes steps, and sets `seen` to the present value of `count`. Counts its calls, and calls
  /// `called` with the number of each.
  private static func action(
    bytes: Int = longBytes,
    _ calls: LockedState<Int>,
    called: @escaping @Sendable (Int) throws -> Void = { _ in }
  ) -> UserAction {
    UserAction(collection: standard, record: #"{"type":"set","payload":{}}"#) { context in
      context.budget?.spend(bytes: bytes)
      let count = context.state.map(standard)["count"]?.json ?? 0
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      try called(number)
      return [.map(.set(key: "seen", value: EncodedJSON(count)))]
    }
  }

  @Test("Another thread decides once, and the writer thread uses its decision", arguments: [nil, "key"])
  func once(key: String?) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let calls = LockedState(0)
    try await fixture.commit([Self.action(calls)], as: ann, key: key)
    // The first call was on the caller's thread or on the writer thread, and was too long for it.
    #expect(calls.withLock { $0 } == 2)
    let state = try await fixture.state(of: ann)
    #expect(state.map(Self.standard)["seen"]?.json == 0 && state.revision == 1)
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
  }

  @Test("Only an encoder thread decides on long actions, even if they take few steps", arguments: [nil, "key"])
  func longActions(key: String?) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let steps = LockedState<[Int]>([])
    let text = String(repeating: "x", count: 64 * 1024)
    let action = UserAction(collection: Self.standard, record: #"{"type":"set","payload":"\#(text)"}"#) { context in
      steps.withLock { $0.append(context.budget?.steps ?? 0) }
      return [.map(.set(key: "seen", value: EncodedJSON(1)))]
    }
    try await fixture.commit([action], as: ann, key: key)
    // The event loop and the writer thread have fewer steps.
    #expect(steps.withLock { $0 } == [WorkBudget.ofRequest])
    #expect(try await fixture.state(of: ann).revision == 1)
  }

  @Test("A refusal that takes long is decided once, too", arguments: [nil, "key"])
  func refused(key: String?) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let calls = LockedState(0)
    let action = Self.action(calls) { _ in throw Refusal.conflict("no") }
    if key == nil {
      await #expect(throws: ActionRefusal.self) { try await fixture.commit([action], as: ann) }
    } else {
      let response = try await fixture.commit([action], as: ann, key: key)
      #expect(response.response.status == 400)
    }
    #expect(calls.withLock { $0 } == 2)
    #expect(try await fixture.state(of: ann).revision == .none)
  }

  @Test("If the user's state changes meanwhile, the decision is made again, but only a few times", arguments: [1, 4])
  func again(changes: Int) async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let calls = LockedState(0)
    let held = (0..<changes).map { _ in (arrival: ThreadGate(), gate: ThreadGate()) }
    defer { for held in held { held.gate.open() } }
    // The calls with odd numbers are on threads that may take only a few steps.
    let action = Self.action(calls) { number in
      guard number.isMultiple(of: 2), number / 2 <= changes else { return }
      held[number / 2 - 1].arrival.open()
      held[number / 2 - 1].gate.pass()
    }
    let long = Task { try await fixture.commit([action], as: ann) }
    for (place, held) in held.enumerated() {
      await held.arrival.opened()
      try await fixture.commit([try fixture.set("count", JSON(place + 1))], as: ann)
      held.gate.open()
    }
    if changes == 1 {
      _ = try await long.value
    } else {
      await #expect(throws: PoolOverloadedError.self) { try await long.value }
    }
    let state = try await fixture.state(of: ann)
    #expect(state.map(Self.standard)["seen"]?.json == (changes == 1 ? 1 : nil))
    #expect(state.map(Self.standard)["count"]?.json == JSON(changes))
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
  }

  @Test(
    "A decision that is based on a state whose group has failed is made again, even if its revision was given again",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteGroups)
  )
  func failedGroup() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    _ = try await fixture.state(of: ann)
    let group = (arrival: ThreadGate(), gate: ThreadGate())
    let encoder = (arrival: ThreadGate(), gate: ThreadGate())
    defer { for held in [group, encoder] { held.gate.open() } }
    let lost = try fixture.set("count", 1)
    let blocking = Self.action(bytes: 0, LockedState(0)) { _ in
      group.arrival.open()
      group.gate.pass()
    }
    var waiting: [Task<KeyedResponse, any Error>] = []
    try await fixture.withWriterHeld {
      waiting.append(Task { try await fixture.commit([lost], as: ann) })
      await fixture.waiting(1)
      // The key leaves the decision to the writer thread.
      waiting.append(Task { try await fixture.commit([blocking], as: bob, key: "key") })
      await fixture.waiting(2)
      try fixture.submitUndoing()
    }
    await group.arrival.opened()
    let action = Self.action(LockedState(0)) { _ in
      encoder.arrival.open()
      encoder.gate.pass()
    }
    let transaction = SyncFixture.transaction([action], as: ann)
    let long = Task { [ledger = fixture.ledger] in try await ledger.commitLong(transaction) }
    await encoder.arrival.opened()
    group.gate.open()
    for task in waiting { await #expect(throws: (any Error).self) { try await task.value } }
    try await fixture.commit([try fixture.set("other", 2)], as: ann)
    #expect(try await fixture.state(of: ann).revision == 1)
    encoder.gate.open()
    _ = try await long.value
    let state = try await fixture.state(of: ann)
    #expect(state.revision == 2)
    #expect(state.map(Self.standard)["count"]?.json == nil && state.map(Self.standard)["other"]?.json == 2)
    #expect(state.map(Self.standard)["seen"]?.json == 0)
    #expect(try await fixture.stored(ann).fingerprint == state.fingerprint)
  }

  @Test("A transaction that takes more steps than a request may take changes nothing")
  func tooMuch() async throws {
    let fixture = try SyncFixture()
    let ann = try await fixture.user(1)
    let calls = LockedState(0)
    // Each action may take its steps, and all together may not.
    let actions = (0..<10).map { _ in Self.action(bytes: 16 * WorkBudget.ofRequest / 8, calls) }
    try await fixture.commit(Array(actions.prefix(7)), as: ann)
    await #expect(throws: TooMuchWorkError.self) { try await fixture.commit(actions, as: ann) }
    #expect(try await fixture.state(of: ann).revision == 1)
    #expect(fixture.store.writer.statistics.waiting == 0)
  }

  @Test("Long transactions of a user are decided one after the other, and those of others meanwhile")
  func shares() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let (calls, other) = (LockedState(0), LockedState(0))
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    defer { gate.open() }
    let first = Self.action(calls) { number in
      guard number == 2 else { return }
      arrival.open()
      gate.pass()
    }
    let long = Task { try await fixture.commit([first], as: ann) }
    await arrival.opened()
    let next = Task { try await fixture.commit([Self.action(other)], as: ann) }
    await eventually { other.withLock { $0 } == 1 }
    try await fixture.commit([Self.action(LockedState(0))], as: bob)
    #expect(other.withLock { $0 } == 1)
    gate.open()
    _ = try await (long.value, next.value)
    #expect(calls.withLock { $0 } == 2 && other.withLock { $0 } == 2)
    #expect(try await fixture.state(of: ann).revision == 2)
  }

  @Test("While long transactions of a user wait, neither the caller nor the writer thread decides on more of them")
  func waiting() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    defer { gate.open() }
    let first = Self.action(LockedState(0)) { number in
      guard number == 2 else { return }
      arrival.open()
      gate.pass()
    }
    let long = Task { try await fixture.commit([first], as: ann) }
    await arrival.opened()
    let next = Task { try await fixture.commit([Self.action(LockedState(0))], as: ann) }
    await eventually { fixture.ledger.longTransactions.isWaiting(ann.user) }
    let last = LockedState(0)
    let third = Task { try await fixture.commit([Self.action(last)], as: ann) }
    await eventually { fixture.ledger.longTransactions.waiting(of: ann.user) == 2 }
    #expect(last.withLock { $0 } == 0)
    #expect(!fixture.ledger.longTransactions.isWaiting(bob.user))
    gate.open()
    _ = try await (long.value, next.value, third.value)
    #expect(last.withLock { $0 } == 1)
  }
}
