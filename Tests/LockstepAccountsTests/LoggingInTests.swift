import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Logging in", .timeLimit(.minutes(10)))
struct LoggingInTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  @Test("Logging in creates another session and token, and both sessions work")
  func logIn() async throws {
    let first = try await fixture.signUp("ann@example.com")
    fixture.clock.advance(by: .seconds(5))
    let second = try await fixture.logIn("ANN@EXAMPLE.COM", device: "tablet")
    #expect(second.user == first.user)
    #expect(second.session.id != first.session.id && second.token != first.token)
    #expect(second.session.createdAt.millisecondsSince1970 == fixture.now)
    #expect(try await fixture.live(first)?.id == first.session.id)
    #expect(try await fixture.live(second)?.id == second.session.id)
  }

  @Test(
    "An unknown address and a wrong password get the same error after the same computations",
    arguments: [
      ("ann@example.com", "a wrong password"), ("nobody@example.com", "a good password"), ("no address", "x"), ("", ""),
      ("ann@example.com'--", "' OR 1=1 --"),
      (String(repeating: "a", count: 10_000), String(repeating: "b", count: 10_000)),
    ]
  )
  func wrong(email: String, password: String) async throws {
    try await fixture.signUp("ann@example.com")
    _ = fixture.hasher.takeComputations()
    #expect(await AccountsError.caught { try await fixture.logIn(email, password) } == .wrongCredentials)
    #expect(fixture.hasher.takeComputations() == ["verify"])
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 1)
  }

  @Test("An invalid device name is refused before the password is verified")
  func wrongDevice() async throws {
    let fault = FieldFault(pointer: "/device", detail: "The device's name contains a control character.")
    #expect(
      await AccountsError.caught { try await fixture.logIn("ann@example.com", device: "a\0b") } == .invalid([fault])
    )
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test(
    "After too many wrong passwords, the correct one is also refused, with the time to wait and without a computation",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteClock)
  )
  func limited() async throws {
    try await fixture.signUp("ann@example.com", from: "198.51.100.1")
    for _ in 0..<10 {
      #expect(await AccountsError.caught { try await fixture.logIn("Ann@example.com", "wrong") } == .wrongCredentials)
    }
    _ = fixture.hasher.takeComputations()
    #expect(
      await AccountsError.caught { try await fixture.logIn("ann@example.com") } == .tooManyAttempts(retryAfter: 60)
    )
    #expect(fixture.hasher.takeComputations().isEmpty)
    try await fixture.logIn("ann@example.com", from: "198.51.100.1")
    fixture.clock.advance(by: .seconds(60))
    try TestedStore.passAttempts(ofStore: fixture.files.path, seconds: 60)
    try await fixture.logIn("ann@example.com")
  }

  @Test(
    "Attempts for an address without an account are limited in the same way",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteClock)
  )
  func limitedUnknown() async throws {
    for _ in 0..<10 {
      #expect(await AccountsError.caught { try await fixture.logIn("nobody@example.com") } == .wrongCredentials)
    }
    #expect(
      await AccountsError.caught { try await fixture.logIn("nobody@example.com") } == .tooManyAttempts(retryAfter: 60)
    )
  }

  @Test("An overloaded hasher is an error, and does not count as a failed attempt")
  func overloaded() async throws {
    try await fixture.signUp("ann@example.com")
    fixture.hasher.setOverloaded(true)
    for _ in 0..<100 {
      #expect(await AccountsError.caught { try await fixture.logIn("ann@example.com", "x") } == .overloaded)
    }
    #expect(await AccountsError.caught { try await fixture.signUp("ben@example.com") } == .overloaded)
    fixture.hasher.setOverloaded(false)
    try await fixture.logIn("ann@example.com")
  }

  @Test("If the hasher is overloaded, opening with credentials fails and does not count as a failed attempt")
  func overloadedOpening() async throws {
    try await fixture.signUp("ann@example.com")
    let credentials = AccountsFixture.credentials("ann@example.com")
    fixture.hasher.setOverloaded(true)
    for _ in 0..<100 {
      let error = await AccountsError.caught {
        _ = try await fixture.accounts.opening(credentials, key: "1") { _ in true }
      }
      #expect(error == .overloaded)
    }
    fixture.hasher.setOverloaded(false)
    #expect(try await fixture.accounts.opening(credentials, key: "1") { _ in true } == true)
  }

  @Test("A login replaces an outdated hash, also if other logins of the same user are running")
  func rehash() async throws {
    try await fixture.signUp("ann@example.com")
    fixture.hasher.setStrength(2)
    _ = fixture.hasher.takeComputations()
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let slow = fixture.logIn("ann@example.com")
    await gate.arrived()
    try await fixture.logIn("ann@example.com")
    await gate.open()
    _ = try await slow
    #expect(fixture.hasher.takeComputations() == ["verify", "verify", "hash", "hash"])
    try await fixture.logIn("ann@example.com")
    #expect(fixture.hasher.takeComputations() == ["verify"], "the hash is no longer outdated")
  }

  @Test("A user's sessions are limited: a login above the limit ends the least recently used session")
  func crowded() async throws {
    let fixture = try await AccountsFixture { $0.sessionsPerUser = 3 }
    let other = try await fixture.signUp("ben@example.com")
    var all = [try await fixture.signUp("ann@example.com")]
    for _ in 0..<2 {
      fixture.clock.advance(by: .seconds(60))
      all.append(try await fixture.logIn("ann@example.com"))
    }
    fixture.clock.advance(by: .seconds(60))
    let live = try #require(try await fixture.live(all[1]))
    _ = try await fixture.live(all[0])
    _ = try await fixture.live(all[2])
    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(all[0])
    _ = try await fixture.live(all[2])
    try await fixture.directory.flush()
    all.append(try await fixture.logIn("ann@example.com"))
    #expect(live.isEnded)
    var works: [Bool] = []
    for signedIn in all + [other] { works.append(try await fixture.live(signedIn) != nil) }
    #expect(works == [true, false, true, true, true])
  }

  @Test("Logins delete sessions that expired more than a day ago")
  func swept() async throws {
    for number in 0..<20 { try await fixture.signUp("user\(number)@example.com") }
    fixture.clock.advance(by: .seconds(91 * 86_400))
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 21, "the sessions expired exactly a day ago")
    fixture.clock.advance(by: .milliseconds(1))
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 6, "each login deletes sixteen sessions")
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 3)
  }

  @Test("A disabled account has no sessions, and only a login with the correct password learns the reason")
  func disabled() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    #expect(try await fixture.accounts.setDisabled(true, ann.user.id))
    #expect(try await fixture.live(ann) == nil)
    #expect(live.isEnded)
    #expect(await AccountsError.caught { try await fixture.logIn("ann@example.com") } == .disabled)
    #expect(await AccountsError.caught { try await fixture.logIn("ann@example.com", "wrong") } == .wrongCredentials)
    #expect(try await fixture.accounts.setDisabled(false, ann.user.id))
    try await fixture.logIn("ann@example.com")
    #expect(try await fixture.live(ann) == nil, "ended sessions stay ended")
    #expect(try await !fixture.accounts.setDisabled(true, UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0))))
  }

  @Test("If an operator disables an account in the store, its tokens are invalid after the next start")
  func disabledByHand() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.store.writer.write { try $0.run("UPDATE users SET disabled_at = 1") }
    let restarted = try await fixture.restarted()
    #expect(try await restarted.directory.session(of: Array(ann.token.text.utf8), at: fixture.now) == nil)
  }

  @Test("A login fails if the account is disabled while it runs")
  func disabledMeanwhile() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let login = AccountsError.caught { try await fixture.logIn("ann@example.com") }
    await gate.arrived()
    _ = try await fixture.accounts.setDisabled(true, ann.user.id)
    await gate.open()
    #expect(await login == .disabled)
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 0)
  }
}
