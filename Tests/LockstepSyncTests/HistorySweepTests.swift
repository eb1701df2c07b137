import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite("Pruning the history of all users", .timeLimit(.minutes(10)))
struct HistorySweepTests {
  private static let day = Duration.seconds(86_400)

  /// The sweep of a fixture's server, on a clock that the test steps.
  private final class Sweep {
    let clock = SteppedClock()
    private let task: Task<Void, Never>

    init(_ fixture: SyncFixture, _ policy: HistoryPolicy, isResponsible: @escaping @Sendable () -> Bool = { true }) {
      let (clock, time) = (clock, fixture.clock.time)
      let sweep = HistorySweep(
        fixture.maintenance,
        policy: policy,
        readers: fixture.store.readers,
        isResponsible: isResponsible,
        now: { Timestamp(millisecondsSince1970: time.millisecondsSince1970()) }
      )
      task = Task { await sweep.run(by: clock) }
    }

    /// Lets the sweep do the next share. Returns how long it sleeps after that.
    func step() async -> Duration? {
      clock.wake()
      return await clock.nextSleep()
    }

    func stop() async {
      task.cancel()
      clock.wake()
      await task.value
    }
  }

  /// The numbers of the revisions that the journal has of a user.
  private func kept(_ session: LiveSession, in fixture: SyncFixture) async throws -> ClosedRange<Int>? {
    try await fixture.store.readers.read { try Journal(connection: $0).kept(of: session.user)?.range }
  }

  private func write(_ revisions: Int, as session: LiveSession, in fixture: SyncFixture) async throws {
    for number in 1...revisions {
      try await fixture.commit([try fixture.set("a", .integer(Int64(number)))], as: session)
    }
  }

  @Test("Old history of users who never write again is pruned up to the last revisions, and states stay the same")
  func dormant() async throws {
    let policy = HistoryPolicy(days: 30, revisions: 10)
    let fixture = try SyncFixture { $0.history = policy }
    let (ann, bob, cy) = (try await fixture.user(1), try await fixture.user(2), try await fixture.user(3))
    try await write(300, as: ann, in: fixture)
    try await write(10, as: bob, in: fixture)
    fixture.clock.advance(by: Self.day * 20)
    try await write(30, as: cy, in: fixture)
    fixture.clock.advance(by: Self.day * 11)
    // After a restart, nothing is in memory.
    try fixture.restart()
    #expect(try await kept(ann, in: fixture) == 1...300)
    let sweep = Sweep(fixture, policy)
    #expect(await sweep.clock.nextSleep() == .seconds(1))
    #expect(await sweep.step() == Self.day)
    await eventually { !fixture.maintenance.isPruning }
    #expect(try await kept(ann, in: fixture) == 291...300)
    #expect(try await kept(bob, in: fixture) == 1...10)
    #expect(try await kept(cy, in: fixture) == 1...30)
    #expect(fixture.maintenance.metrics.prunedRevisions == 290)
    // Only a few of these are too old.
    fixture.clock.advance(by: Self.day * 20)
    #expect(await sweep.step() == Self.day)
    await eventually { !fixture.maintenance.isPruning }
    #expect(try await kept(cy, in: fixture) == 21...30)
    for (session, last) in [(ann, 300), (bob, 10), (cy, 30)] {
      let state = try await fixture.state(of: session).fingerprint
      #expect(try await fixture.rebuilt(session).fingerprint == state)
      #expect(try await fixture.past(session, at: Revision(number: last), "defaults") != nil)
    }
    #expect(try await fixture.past(ann, at: Revision(number: 290), "defaults") == nil)
    // There is nothing to do any more.
    let pruned = fixture.maintenance.metrics.prunedRevisions
    #expect(await sweep.step() == Self.day)
    #expect(!fixture.maintenance.isPruning && fixture.maintenance.metrics.prunedRevisions == pruned)
    await sweep.stop()
  }

  @Test("Only revisions older than the limit are pruned, and the last revisions always stay")
  func part() async throws {
    let policy = HistoryPolicy(days: 30, revisions: 10)
    let fixture = try SyncFixture { $0.history = policy }
    let ann = try await fixture.user(1)
    try await write(15, as: ann, in: fixture)
    fixture.clock.advance(by: Self.day * 20)
    try await write(50, as: ann, in: fixture)
    fixture.clock.advance(by: Self.day * 15)
    let sweep = Sweep(fixture, policy)
    _ = await sweep.clock.nextSleep()
    _ = await sweep.step()
    await eventually { !fixture.maintenance.isPruning }
    #expect(try await kept(ann, in: fixture) == 16...65)
    await sweep.stop()
  }

  @Test("While the history of a user who writes is pruned, the sweep finds users who do not write")
  func backlog() async throws {
    let policy = HistoryPolicy(days: 30, revisions: 10)
    let fixture = try SyncFixture { $0.history = policy }
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    try await write(30, as: ann, in: fixture)
    try await write(300, as: bob, in: fixture)
    try await fixture.writerIsIdle()
    fixture.clock.advance(by: Self.day * 31)
    let state = try await fixture.state(of: bob)
    let held = try await HeldWriter.hold(fixture.store.writer, fixture.ledger)
    defer { held.letGo() }
    // This pruning waits for the writer.
    fixture.maintenance.noteCommit(of: bob.user, state, written: policy.bytes)
    let sweep = Sweep(fixture, policy)
    _ = await sweep.clock.nextSleep()
    #expect(fixture.maintenance.isPruning && !fixture.maintenance.isSweeping)
    #expect(await sweep.step() == Self.day)
    // Until these users are pruned, the sweep looks for no others.
    #expect(fixture.maintenance.isSweeping)
    #expect(await sweep.step() == .seconds(1))
    held.letGo()
    await eventually { !fixture.maintenance.isPruning }
    #expect(!fixture.maintenance.isSweeping)
    #expect(try await kept(ann, in: fixture) == 21...30)
    #expect(try await kept(bob, in: fixture) == 291...300)
    await sweep.stop()
  }

  @Test("With no days of history, a round begins every ten minutes, and only on the responsible node")
  func rounds() async throws {
    let policy = HistoryPolicy(days: 0, revisions: 10)
    let fixture = try SyncFixture { $0.history = policy }
    let ann = try await fixture.user(1)
    try await write(30, as: ann, in: fixture)
    fixture.clock.advance(by: .seconds(1))
    let isResponsible = LockedState(false)
    let sweep = Sweep(fixture, policy) { isResponsible.withLock { $0 } }
    _ = await sweep.clock.nextSleep()
    #expect(await sweep.step() == .seconds(60))
    #expect(try await kept(ann, in: fixture) == 1...30)
    isResponsible.withLock { $0 = true }
    #expect(await sweep.step() == .seconds(600))
    await eventually { !fixture.maintenance.isPruning }
    #expect(try await kept(ann, in: fixture) == 21...30)
    await sweep.stop()
  }

  @Test("A share has the next users in the order of their ids, and the last share has no last user")
  func shares() async throws {
    let fixture = try SyncFixture()
    var sessions: [LiveSession] = []
    for number: UInt64 in 1...5 {
      sessions.append(try await fixture.user(number))
      // The second user has no history, and the third one too little.
      let revisions = [3, 0, 2, 3, 3][sessions.count - 1]
      if revisions > 0 { try await write(revisions, as: sessions[sessions.count - 1], in: fixture) }
    }
    var (last, shares): (UserID?, [[UserID]]) = (nil, [])
    repeat {
      let after = last
      let share = try await fixture.store.readers.read {
        try Journal(connection: $0)
          .share(after: after, limit: 2, agedBefore: Timestamp(millisecondsSince1970: 1_000_001), beyond: 2)
      }
      shares.append(share.aged)
      last = share.last
    } while last != nil
    #expect(shares == [[sessions[0].user], [sessions[3].user], [sessions[4].user]])
    let young = try await fixture.store.readers.read {
      try Journal(connection: $0)
        .share(after: nil, limit: 9, agedBefore: Timestamp(millisecondsSince1970: 1_000_000), beyond: 2)
    }
    #expect(young.aged.isEmpty && young.last == nil)
  }
}
