import LockstepSQLiteStore
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Recording the use of sessions", .timeLimit(.minutes(10)))
struct SessionUseTests {
  private static let day: Int64 = 86_400_000

  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  private func stored(_ session: SessionID) async throws -> (lastSeenAt: Int, expiresAt: Int, cursor: String?)? {
    try await fixture.store.readers.read { connection in
      try connection.first("SELECT last_seen_at, expires_at, cursor FROM sessions WHERE id = ?", session) { row in
        (try row[0], try row[1], try row[2])
      }
    }
  }

  /// Submits a unit that blocks the writer. The unit opens `isHeld` when it starts, and waits for
  /// the gate.
  private func holdWriter(of fixture: AccountsFixture, _ isHeld: ThreadGate, until gate: ThreadGate) throws {
    try fixture.store.writer.submit { _ in
      isHeld.open()
      gate.pass()
    } completion: { _ in
    }
  }

  @Test("A token expires a fixed time after its last use")
  func expiry() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    #expect(ann.session.expiresAt.millisecondsSince1970 == fixture.now + 90 * Self.day)
    for _ in 0..<5 {
      fixture.clock.advance(by: .seconds(89 * 86_400))
      #expect(try await fixture.live(ann) != nil)
    }
    let live = try #require(try await fixture.live(ann))
    fixture.clock.advance(by: .seconds(90 * 86_400) - .milliseconds(1))
    try await #require(fixture.live(ann) != nil)
    fixture.clock.advance(by: .seconds(90 * 86_400))
    #expect(try await fixture.live(ann) == nil)
    #expect(live.isEnded)
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("A token that expired while it was not in memory is refused")
  func expiredCold() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.clock.advance(by: .seconds(90 * 86_400))
    #expect(try await fixture.live(ann) == nil)
    #expect(try await fixture.accounts.sessions(of: ann.user.id).isEmpty)
  }

  @Test("The lifetime of tokens can be configured")
  func lifetime() async throws {
    let fixture = try await AccountsFixture { $0.tokenLifetime = .seconds(3_600) }
    let ann = try await fixture.signUp("ann@example.com")
    #expect(ann.session.expiresAt.millisecondsSince1970 == fixture.now + 3_600_000)
    fixture.clock.advance(by: .seconds(3_599))
    #expect(try await fixture.live(ann) != nil)
    fixture.clock.advance(by: .seconds(3_600))
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("The last use is written at most once a minute, and survives a restart")
  func lastSeen() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let start = Int(fixture.now)
    var written: [Int] = []
    for _ in 0..<240 {
      fixture.clock.advance(by: .seconds(1))
      _ = try #require(try await fixture.live(ann))
      // After this, earlier uses are on disk. There was no use since then.
      try await fixture.directory.flush()
      let seen = try #require(try await stored(ann.session.id))
      #expect(seen.expiresAt == seen.lastSeenAt + 90 * Int(Self.day))
      if written.last != seen.lastSeenAt - start { written.append(seen.lastSeenAt - start) }
    }
    #expect(written == [0, 60_000, 120_000, 180_000, 240_000])
    let sessions = try await fixture.restarted().sessions(of: ann.user.id)
    #expect(sessions.map { Int($0.lastSeenAt.millisecondsSince1970) - start } == [240_000])
  }

  @Test("A request does not wait until the last use is written")
  func notAwaited() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.live(ann)
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isHeld, until: gate)
    await isHeld.opened()
    fixture.clock.advance(by: .seconds(61))
    #expect(try await fixture.live(ann) != nil, "the writer is blocked")
    #expect(try await fixture.accounts.sessions(of: ann.user.id)[0].lastSeenAt.millisecondsSince1970 == fixture.now)
    gate.open()
  }

  @Test("Uses of many sessions are written together while the writer is busy")
  func batched() async throws {
    var all: [SignedIn] = []
    for number in 0..<50 { all.append(try await fixture.signUp("user\(number)@example.com")) }
    for signedIn in all { _ = try await fixture.live(signedIn) }
    let unitsBefore = fixture.store.writer.statistics.units
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isHeld, until: gate)
    await isHeld.opened()
    fixture.clock.advance(by: .seconds(61))
    for signedIn in all { _ = try await fixture.live(signedIn) }
    #expect(fixture.store.writer.statistics.waiting == 1, "the first use is one unit, and the others wait")
    async let flush: Void = fixture.directory.flush()
    // If the writer went on earlier, the other uses could be a unit of their own before the flush.
    await eventually { fixture.store.writer.statistics.waiting == 2 }
    gate.open()
    try await flush
    // The unit that blocked the writer, the first use, and all other uses with the flush.
    if TestedStore.isSQLite { #expect(fixture.store.writer.statistics.units - unitsBefore == 3) }
    let (now, seen) = (Int(fixture.now), try await fixture.count("SELECT min(last_seen_at) FROM sessions"))
    #expect(seen == now)
  }

  @Test("A use that is recorded during a write is written right after it")
  func notedMeanwhile() async throws {
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    for signedIn in [ann, ben] { _ = try await fixture.live(signedIn) }
    fixture.clock.advance(by: .seconds(60))
    // The first unit collects two more in its transaction: Ann's use, and one that blocks the
    // writer.
    let (isGathering, gathered, hasTaken, gate) = (ThreadGate(), ThreadGate(), ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isGathering, until: gathered)
    await isGathering.opened()
    _ = try await fixture.live(ann)
    try holdWriter(of: fixture, hasTaken, until: gate)
    gathered.open()
    await hasTaken.opened()
    _ = try await fixture.live(ben)
    gate.open()
    try await eventually { try await lastSeen(of: ben.session.id) == Int(fixture.now) }
    #expect(try await lastSeen(of: ann.session.id) == Int(fixture.now))
  }

  @Test(
    "A use that is refused by a full writer is written with the next one",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly)
  )
  func writerOverloaded() async throws {
    let fixture = try await AccountsFixture(writer: DatabaseWriter.Options(capacity: 1))
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    for signedIn in [ann, ben] { _ = try await fixture.live(signedIn) }
    fixture.clock.advance(by: .seconds(60))
    let (isHeld, isWaiting, gate) = (ThreadGate(), ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isHeld, until: gate)
    await isHeld.opened()
    try holdWriter(of: fixture, isWaiting, until: gate)
    _ = try await fixture.live(ann)
    gate.open()
    await isWaiting.opened()
    _ = try await fixture.live(ben)
    let file = try fixture.files.sqlite()
    try await eventually {
      try file.first("SELECT min(last_seen_at) FROM sessions") { row in try row[0] as Int } == Int(fixture.now)
    }
  }

  private func lastSeen(of session: SessionID) async throws -> Int? {
    try await fixture.files.rows("SELECT last_seen_at FROM sessions WHERE id = '\(session)'").first.flatMap {
      Int($0[0])
    }
  }

  @Test("A session needs no new check for a minute after its use was recorded, unless it expires")
  func fresh() async throws {
    let fixture = try await AccountsFixture { $0.tokenLifetime = .seconds(90) }
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    func isFresh(_ seconds: Int64) -> Bool { live.freshUntil > fixture.now + seconds * 1_000 }
    #expect(isFresh(0) && isFresh(59) && !isFresh(60))
    fixture.clock.advance(by: .seconds(70))
    #expect(!isFresh(0))
    _ = try await fixture.live(ann)
    #expect(isFresh(0) && isFresh(59) && !isFresh(60), "the new check counts for another minute")

    let short = try await AccountsFixture { $0.tokenLifetime = .seconds(30) }
    let ben = try #require(try await short.live(try await short.signUp("ben@example.com")))
    #expect(ben.freshUntil == short.now + 30_000)
  }

  @Test("The last cursor is visible at once, and written with the next use or at shutdown")
  func cursor() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    fixture.directory.note(cursor: "c1", of: live)
    fixture.directory.note(cursor: "c2", of: live)
    #expect(try await fixture.accounts.sessions(of: ann.user.id).map(\.cursor) == ["c2"])
    #expect(try await stored(ann.session.id)?.cursor == nil)

    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(ann)
    try await fixture.store.writer.write { _ in }
    #expect(try await stored(ann.session.id)?.cursor == "c2", "the next use writes the cursor")

    fixture.directory.note(cursor: "c3", of: live)
    try await fixture.directory.flush()
    #expect(try await stored(ann.session.id)?.cursor == "c3", "the shutdown writes the cursor")
    #expect(try await fixture.restarted().sessions(of: ann.user.id).map(\.cursor) == ["c3"])
  }

  @Test("If the last uses cannot be written at shutdown, the flush throws")
  func lateFlush() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.directory.note(cursor: "c1", of: try #require(try await fixture.live(ann)))
    fixture.store.close()
    #expect(await AccountsError.caught { try await fixture.directory.flush() } == .store(.closed))
  }

  @Test("Uses that cannot be written are dropped, and the next use is recorded again")
  func failingNotes() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.live(ann)
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE sessions RENAME TO elsewhere") }
    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(ann)
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE elsewhere RENAME TO sessions") }
    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(ann)
    try await fixture.store.writer.write { _ in }
    #expect(try await stored(ann.session.id)?.lastSeenAt == Int(fixture.now))
  }
}
