import SQLite
import TestSupport
import Testing
import Workers

@testable import Lockstep

@Suite("The directory of sessions")
struct SessionDirectoryTests {
  private static let day: Int64 = 86_400_000

  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  private func bytes(_ signedIn: SignedIn) -> [UInt8] { Array(signedIn.token.text.utf8) }

  private func stored(_ session: SessionID) async throws -> (lastSeenAt: Int, expiresAt: Int, cursor: String?)? {
    try await fixture.store.readers.read { connection in
      try connection.first("SELECT last_seen_at, expires_at, cursor FROM sessions WHERE id = ?", session) { row in
        (try row[0], try row[1], try row[2])
      }
    }
  }

  /// Keeps the one thread that reads from reading, until the gate is opened.
  private func withReaderHeld<Result>(
    _ body: (ThreadGate) async throws -> Result
  ) async throws -> Result {
    let (isHeld, gate) = (ThreadGate(), ThreadGate())
    async let holding: Void = fixture.store.readers.read { _ in
      isHeld.open()
      gate.pass()
    }
    await isHeld.opened()
    defer { gate.open() }
    let result = try await body(gate)
    gate.open()
    try await holding
    return result
  }

  /// A unit that keeps the writer busy from when `isHeld` opens until the gate does.
  private func holdWriter(of fixture: AccountsFixture, _ isHeld: ThreadGate, until gate: ThreadGate) throws {
    try fixture.store.writer.submit { _ in
      isHeld.open()
      gate.pass()
    } settled: { _ in
    }
  }

  // MARK: Finding

  @Test("A token is its session's, from the store at first and then from memory, as one object")
  func found() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    guard case .unknown = fixture.directory.authenticate(bytes(ann), at: fixture.now) else {
      Issue.record("it's in memory before it was used")
      return
    }
    let first = try #require(try await fixture.live(ann))
    #expect(first.id == ann.session.id && first.user == ann.user.id && !first.isEnded)
    fixture.store.readers.shutDown()
    guard case .session(let second) = fixture.directory.authenticate(bytes(ann), at: fixture.now) else {
      Issue.record("it isn't in memory")
      return
    }
    #expect(second === first)
  }

  @Test("What isn't a token, and a token that somebody made up, is refused without a look into the store")
  func madeUp() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.store.readers.shutDown()
    var texts = ["", "x", "ls_", ann.token.text + "A", String(ann.token.text.dropLast()), "Bearer " + ann.token.text]
    let sodium = try Sodium()
    let foreign = TokenMint(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
    for _ in 0..<1_000 { texts.append(foreign.make().text) }
    for text in texts {
      guard case .refused = fixture.directory.authenticate(Array(text.utf8), at: fixture.now) else {
        Issue.record("\(text) isn't refused")
        continue
      }
    }
    #expect(fixture.directory.count == 0, "and nothing of it is kept")
  }

  @Test("A token that was valid once is looked up once, and then refused from memory")
  func refusedFromMemory() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.store.writer.write { try $0.run("DELETE FROM sessions") }
    #expect(try await fixture.live(ann) == nil)
    fixture.store.readers.shutDown()
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("Many who ask at once for a session that isn't in memory share one look into the store")
  func loadedOnce() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let sessions = try await withReaderHeld { gate in
      try await withThrowingTaskGroup(of: LiveSession?.self) { group in
        let asked = Monitor(0)
        for _ in 0..<100 {
          group.addTask {
            let answer = fixture.directory.authenticate(bytes(ann), at: fixture.now)
            guard case .unknown(let token) = answer else { return nil }
            asked.withLock { $0 += 1 }
            return try await fixture.directory.load(token, at: fixture.now)
          }
        }
        await eventually { asked.withLock { $0 } == 100 && fixture.store.readers.waiting > 0 }
        #expect(fixture.store.readers.waiting == 1)
        gate.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(sessions.count == 100)
    let first = try #require(sessions[0])
    #expect(sessions.allSatisfy { $0 === first })
  }

  @Test("Whoever asks for a session while the store fails is told so, and the next one tries again")
  func failing() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE sessions RENAME TO elsewhere") }
    await #expect(throws: AccountsError.self) { try await fixture.live(ann) }
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE elsewhere RENAME TO sessions") }
    #expect(try await fixture.live(ann)?.id == ann.session.id)
  }

  @Test("The memory is bounded, and a session that had to make room is read again")
  func bounded() async throws {
    let fixture = try await AccountsFixture { $0.sessionsInMemory = 32 }
    var all: [SignedIn] = []
    for number in 0..<200 { all.append(try await fixture.signUp("user\(number)@example.com")) }
    for signedIn in all + all {
      #expect(try await fixture.live(signedIn)?.id == signedIn.session.id)
      #expect(fixture.directory.count <= 32)
    }
  }

  // MARK: Use

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
    let fixture = try await AccountsFixture(writer: Writer.Options(capacity: 1))
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

  // MARK: Ending

  @Test("A session that ends is refused at once, whoever holds it sees it, and those who listen are told")
  func ended() async throws {
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    let live = try #require(try await fixture.live(ann))
    let told = Monitor<[[SessionID]]>([])
    fixture.directory.whenEnded { ids in
      #expect(live.isEnded, "first it has ended, then it's told")
      told.withLock { $0.append(ids) }
    }
    try await fixture.accounts.revoke(live.id, of: live.user)
    #expect(told.withLock { $0 } == [[ann.session.id]])
    fixture.store.readers.shutDown()
    #expect(try await fixture.live(ann) == nil, "without a look into the store")
    guard case .unknown = fixture.directory.authenticate(bytes(ben), at: fixture.now) else {
      Issue.record("the other session is as it was")
      return
    }
  }

  @Test("A session that ends while it's being read is refused to all who wait for it")
  func endedWhileLoading() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let sessions = try await withReaderHeld { gate in
      try await withThrowingTaskGroup(of: LiveSession?.self) { group in
        for _ in 0..<10 { group.addTask { try await fixture.live(ann) } }
        await eventually { fixture.store.readers.waiting > 0 }
        // The row is still there, as it is when the reading began before the deletion.
        fixture.directory.end([EndedSession(id: ann.session.id, tokenHash: ann.token.hash)])
        gate.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(sessions == [LiveSession?](repeating: nil, count: 10))
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("Revoked in the middle of many requests, it's refused to each that begins afterwards")
  func race() async throws {
    for round in 0..<20 {
      let ann = try await fixture.signUp("ann\(round)@example.com")
      let isRevoked = Monitor(false)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<200 {
              let wasRevoked = isRevoked.withLock { $0 }
              let session = try await fixture.live(ann)
              if wasRevoked { #expect(session == nil) }
            }
          }
        }
        group.addTask {
          try await fixture.accounts.revoke(ann.session.id, of: ann.user.id)
          isRevoked.withLock { $0 = true }
        }
        try await group.waitForAll()
      }
      #expect(try await fixture.live(ann) == nil)
    }
  }

  @Test("A session that a request holds is found when it ends, however many have come since")
  func heldEnds() async throws {
    let fixture = try await AccountsFixture { $0.sessionsInMemory = 32 }
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    for number in 0..<200 {
      _ = try await fixture.live(try await fixture.signUp("user\(number)@example.com"))
    }
    try await fixture.accounts.revoke(ann.session.id, of: ann.user.id)
    #expect(live.isEnded)
  }
}

extension LiveSession: Equatable {
  /// The same object.
  public static func == (left: LiveSession, right: LiveSession) -> Bool { left === right }
}
