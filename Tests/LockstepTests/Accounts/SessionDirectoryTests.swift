import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

@Suite("The directory of sessions", .timeLimit(.minutes(10)))
struct SessionDirectoryTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  private func bytes(_ signedIn: SignedIn) -> [UInt8] { Array(signedIn.token.text.utf8) }

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
    let foreign = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
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
        let asked = LockedState(0)
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

  // MARK: Ending

  @Test("A session that ends is refused at once, whoever holds it sees it, and those who listen are told")
  func ended() async throws {
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    let live = try #require(try await fixture.live(ann))
    let told = LockedState<[[SessionID]]>([])
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
      let isRevoked = LockedState(false)
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
