import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The directory of sessions", .timeLimit(.minutes(10)))
struct SessionDirectoryTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  private func bytes(_ signedIn: SignedIn) -> [UInt8] { Array(signedIn.token.text.utf8) }

  /// Blocks the only reader thread until the gate is opened.
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

  // MARK: Lookup

  @Test("A token's session comes from the store once and then from memory, always as the same object")
  func found() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    guard case .unknown = fixture.directory.authenticate(bytes(ann), at: fixture.now) else {
      Issue.record("the session is in memory before its first use")
      return
    }
    let first = try #require(try await fixture.live(ann))
    #expect(first.id == ann.session.id && first.user == ann.user.id && !first.isEnded)
    fixture.store.readers.shutDown()
    guard case .session(let second) = fixture.directory.authenticate(bytes(ann), at: fixture.now) else {
      Issue.record("the session is not in memory")
      return
    }
    #expect(second === first)
  }

  @Test("Other texts and invented tokens are refused without a read of the store")
  func madeUp() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    fixture.store.readers.shutDown()
    var texts = ["", "x", "ls_", ann.token.text + "A", String(ann.token.text.dropLast()), "Bearer " + ann.token.text]
    let sodium = try Sodium()
    let foreign = TokenIssuer(key: TokenKey(random: sodium.randomWord), random: sodium.randomWord)
    for _ in 0..<1_000 { texts.append(foreign.make(for: ann.user.id).text) }
    // Another server of the load balancer is not reached with other digits.
    let digits = try #require(ann.token.userDigits)
    for other in [nil, HexadecimalDigits(digits.value ^ 1)] {
      texts.append(Token(secret: ann.token.secret, tag: ann.token.tag, userDigits: other).text)
    }
    for text in texts {
      guard case .refused = fixture.directory.authenticate(Array(text.utf8), at: fixture.now) else {
        Issue.record("\(text) is not refused")
        continue
      }
    }
    #expect(fixture.directory.count == 0, "nothing is kept for them")
  }

  @Test("A token of an earlier version stays valid")
  func earlierForm() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    #expect(ann.token.userDigits != nil)
    let key = try await fixture.store.writer.write { try TokenKey.findOrMake(in: $0) { 0 } }
    let earlier = TokenIssuer(key: key, random: try Sodium().randomWord).makeService()
    var stored = StoredSession(session: ann.session, user: ann.user.id, tokenHash: earlier.hash)
    stored.session = Session(
      id: SessionID(fixture.accounts.ids.next()),
      device: nil,
      createdAt: ann.session.createdAt,
      lastSeenAt: ann.session.lastSeenAt,
      expiresAt: ann.session.expiresAt
    )
    let session = stored
    try await fixture.store.writer.write { try SessionRecords(connection: $0).insert(session) }
    let live = try #require(try await fixture.directory.session(of: Array(earlier.text.utf8), at: fixture.now))
    #expect(live.user == ann.user.id && live.id == session.session.id)
  }

  @Test("A deleted token is looked up in the store once, and then refused from memory")
  func refusedFromMemory() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.store.writer.write { try $0.run("DELETE FROM sessions") }
    #expect(try await fixture.live(ann) == nil)
    fixture.store.readers.shutDown()
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("Concurrent requests for a session that is not in memory share one read of the store")
  func loadedOnce() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let sessions = try await withReaderHeld { gate in
      try await withThrowingTaskGroup(of: LiveSession?.self) { group in
        let asked = LockedState(0)
        for _ in 0..<100 {
          group.addTask {
            let lookup = fixture.directory.authenticate(bytes(ann), at: fixture.now)
            guard case .unknown(let token) = lookup else { return nil }
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

  @Test("If the store fails, a lookup throws, and the next one tries again")
  func failing() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE sessions RENAME TO elsewhere") }
    await #expect(throws: AccountsError.self) { try await fixture.live(ann) }
    try await fixture.store.writer.write { try $0.execute("ALTER TABLE elsewhere RENAME TO sessions") }
    #expect(try await fixture.live(ann)?.id == ann.session.id)
  }

  @Test("The memory is bounded, and an evicted session is read again")
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

  @Test("A session that ends is refused at once, requests that hold it see the end, and the observer is called")
  func ended() async throws {
    let (ann, ben) = (try await fixture.signUp("ann@example.com"), try await fixture.signUp("ben@example.com"))
    let live = try #require(try await fixture.live(ann))
    fixture.observer.during { #expect(live.isEnded, "the session has ended before the notification") }
    try await fixture.accounts.revoke(live.id, of: live.user)
    #expect(fixture.observer.calls == [[ann.session.id]])
    fixture.store.readers.shutDown()
    #expect(try await fixture.live(ann) == nil, "the store is not read")
    guard case .unknown = fixture.directory.authenticate(bytes(ben), at: fixture.now) else {
      Issue.record("the other session must not change")
      return
    }
  }

  @Test("A session that ends while it is read from the store is refused to all waiting requests")
  func endedWhileLoading() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let sessions = try await withReaderHeld { gate in
      try await withThrowingTaskGroup(of: LiveSession?.self) { group in
        for _ in 0..<10 { group.addTask { try await fixture.live(ann) } }
        await eventually { fixture.store.readers.waiting > 0 }
        // The row still exists. The read began before the deletion.
        fixture.directory.end([EndedSession(id: ann.session.id, tokenHash: ann.token.hash)])
        gate.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(sessions == [LiveSession?](repeating: nil, count: 10))
    #expect(try await fixture.live(ann) == nil)
  }

  @Test("A session that is revoked amid many requests is refused to every later request")
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

  @Test("A session that a request holds is marked as ended, however many sessions came later")
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
  /// Sessions are equal if they are the same object.
  public static func == (left: LiveSession, right: LiveSession) -> Bool { left === right }
}
