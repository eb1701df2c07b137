import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections

@Suite("The use of sessions", .timeLimit(.minutes(10)))
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

  /// A unit that keeps the writer busy from when `isHeld` opens until the gate does.
  private func holdWriter(of fixture: AccountsFixture, _ isHeld: ThreadGate, until gate: ThreadGate) throws {
    try fixture.store.writer.submit { _ in
      isHeld.open()
      gate.pass()
    } completion: { _ in
    }
  }

  @Test("A token ends so long after its last use")
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

  @Test("A token that expired while it wasn't in memory is refused")
  func expiredCold() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.clock.advance(by: .seconds(90 * 86_400))
    #expect(try await fixture.live(ann) == nil)
    #expect(try await fixture.accounts.sessions(of: ann.user.id).isEmpty)
  }

  @Test("How long tokens last can be chosen")
  func lifetime() async throws {
    let fixture = try await AccountsFixture { $0.tokenLifetime = .seconds(3_600) }
    let ann = try await fixture.signUp("ann@example.com")
    #expect(ann.session.expiresAt.millisecondsSince1970 == fixture.now + 3_600_000)
    fixture.clock.advance(by: .seconds(3_599))
    #expect(try await fixture.live(ann) != nil)
    fixture.clock.advance(by: .seconds(3_600))
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("The last use is written, once a minute at most, and a restart knows it")
  func lastSeen() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let start = Int(fixture.now)
    var written: [Int] = []
    for _ in 0..<240 {
      fixture.clock.advance(by: .seconds(1))
      _ = try #require(try await fixture.live(ann))
      // What was noted before is on disk now; nothing was noted since then.
      try await fixture.directory.flush()
      let seen = try #require(try await stored(ann.session.id))
      #expect(seen.expiresAt == seen.lastSeenAt + 90 * Int(Self.day))
      if written.last != seen.lastSeenAt - start { written.append(seen.lastSeenAt - start) }
    }
    #expect(written == [0, 60_000, 120_000, 180_000, 240_000])
    let sessions = try await fixture.restarted().sessions(of: ann.user.id)
    #expect(sessions.map { Int($0.lastSeenAt.millisecondsSince1970) - start } == [240_000])
  }

  @Test("Nobody waits for the last use to be written")
  func notAwaited() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.live(ann)
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isHeld, until: gate)
    await isHeld.opened()
    fixture.clock.advance(by: .seconds(61))
    #expect(try await fixture.live(ann) != nil, "though the writer does nothing")
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
    #expect(fixture.store.writer.statistics.waiting == 1, "one unit for all of them")
    gate.open()
    try await fixture.directory.flush()
    // That which held the writer, that for all of them, and the flush's.
    #expect(fixture.store.writer.statistics.units - unitsBefore == 3)
    let (now, seen) = (Int(fixture.now), try await fixture.count("SELECT min(last_seen_at) FROM sessions"))
    #expect(seen == now)
  }

  @Test("A use that is noted while others are being written is written right after them")
  func notedMeanwhile() async throws {
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    for signedIn in [ann, ben] { _ = try await fixture.live(signedIn) }
    fixture.clock.advance(by: .seconds(60))
    // The first unit gathers what follows it into one transaction: Ann's note, and one in which the writer stops.
    let (isGathering, gathered, hasTaken, gate) = (ThreadGate(), ThreadGate(), ThreadGate(), ThreadGate())
    try holdWriter(of: fixture, isGathering, until: gathered)
    await isGathering.opened()
    _ = try await fixture.live(ann)
    try holdWriter(of: fixture, hasTaken, until: gate)
    gathered.open()
    await hasTaken.opened()
    _ = try await fixture.live(ben)
    gate.open()
    try await eventually { try lastSeen(of: ben.session.id) == Int(fixture.now) }
    #expect(try lastSeen(of: ann.session.id) == Int(fixture.now))
  }

  @Test("A use that the writer has no room for is written with the next one")
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

  private func lastSeen(of session: SessionID) throws -> Int? {
    try fixture.files.sqlite().first("SELECT last_seen_at FROM sessions WHERE id = ?", session) { row in try row[0] }
  }

  @Test("A connection needn't ask again for a minute after a use was noted, unless the session ends or expires")
  func fresh() async throws {
    let fixture = try await AccountsFixture { $0.tokenLifetime = .seconds(90) }
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    func isFresh(_ seconds: Int64) -> Bool { live.isFresh(at: fixture.now + seconds * 1_000) }
    #expect(isFresh(0) && isFresh(59) && !isFresh(60))
    fixture.clock.advance(by: .seconds(70))
    #expect(!isFresh(0))
    _ = try await fixture.live(ann)
    #expect(isFresh(0) && isFresh(59) && !isFresh(60), "asking makes it so again")
    try await fixture.accounts.revoke(live.id, of: live.user)
    #expect(!isFresh(0))

    let short = try await AccountsFixture { $0.tokenLifetime = .seconds(30) }
    let ben = try #require(try await short.live(try await short.signUp("ben@example.com")))
    #expect(ben.isFresh(at: short.now + 29_999) && !ben.isFresh(at: short.now + 30_000))
  }

  @Test("The last cursor is told at once, and written with the next use or at the end")
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
    #expect(try await stored(ann.session.id)?.cursor == "c2", "with the next use")

    fixture.directory.note(cursor: "c3", of: live)
    try await fixture.directory.flush()
    #expect(try await stored(ann.session.id)?.cursor == "c3", "at the end")
    #expect(try await fixture.restarted().sessions(of: ann.user.id).map(\.cursor) == ["c3"])
  }

  @Test("Where nothing can be written any more at the end, whoever ends is told so")
  func lateFlush() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.directory.note(cursor: "c1", of: try #require(try await fixture.live(ann)))
    fixture.store.close()
    #expect(await AccountsError.caught { try await fixture.directory.flush() } == .store(.closed))
  }

  @Test("Notes that can't be written are let go, and the next use is noted again")
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
