import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Signing up", .timeLimit(.minutes(10)))
struct SigningUpTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  @Test("Signing up creates a user, a session and a valid token, and all of it is on disk")
  func signUp() async throws {
    let ann = try await fixture.signUp("Ann@Example.com", device: " phone ")
    #expect(ann.user.email == "Ann@Example.com")
    #expect(ann.user.createdAt.millisecondsSince1970 == fixture.now)
    #expect(ann.session.device == "phone" && ann.session.createdAt == ann.user.createdAt)
    #expect(try await fixture.live(ann)?.user == ann.user.id)
    #expect(try await fixture.restarted().user(ann.user.id) == ann.user)
    #expect(try await fixture.restarted().sessions(of: ann.user.id) == [ann.session])
    let rows = try await fixture.files.rows("SELECT email, email_key FROM users")
    #expect(rows == [["Ann@Example.com", "ann@example.com"]], "another connection reads it")
  }

  @Test("The store contains neither the token nor the password")
  func secrets() async throws {
    let ann = try await fixture.signUp("ann@example.com", "open sesame 123")
    try await fixture.accounts.directory.flush()
    let text = try await fixture.files.storedText()
    #expect(text.contains("ann@example.com"))
    #expect(!text.contains(ann.token.text.dropFirst(3)) && !text.contains("open sesame"))
  }

  @Test("All faults are reported together with their fields, and nothing is hashed or changed")
  func invalid() async throws {
    let faults = [
      FieldFault(pointer: "/email", detail: "The address has no @: it must look like name@example.com."),
      FieldFault(pointer: "/password", detail: "The password is shorter than 8 characters."),
      FieldFault(pointer: "/device", detail: "The device's name is empty. Omit it instead."),
    ]
    #expect(await AccountsError.caught { try await fixture.signUp("ann", "1234567", device: " ") } == .invalid(faults))
    #expect(
      await AccountsError.caught { try await fixture.signUp("ann@example.com", "Ann@Example.com") }
        == .invalid([FieldFault(pointer: "/password", detail: "The password is the same as the e-mail address.")])
    )
    #expect(fixture.hasher.takeComputations().isEmpty)
    #expect(try await fixture.count("SELECT count(*) FROM users") == 0)
  }

  @Test("An address that differs from an existing one only in case is refused before anything is hashed")
  func taken() async throws {
    try await fixture.signUp("ann@example.com")
    _ = fixture.hasher.takeComputations()
    #expect(await AccountsError.caught { try await fixture.signUp("ANN@example.com") } == .addressTaken)
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test("Of two concurrent sign-ups with one address, one succeeds")
  func race() async throws {
    let (first, second) = (Gate(), Gate())
    fixture.hasher.stopNext(at: first, second)
    async let one = AccountsError.caught { try await fixture.signUp("ann@example.com", "the one password") }
    async let other = AccountsError.caught { try await fixture.signUp("Ann@example.com", "the other password") }
    // Both sign-ups have found the address free.
    await first.arrived()
    await second.arrived()
    await first.open()
    await second.open()
    let outcomes = await [one, other]
    #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == .addressTaken } == 1, "\(outcomes)")
    #expect(try await fixture.count("SELECT count(*) FROM users") == 1)
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 1)
  }

  @Test("With closed registration, signing up is refused and logging in works")
  func closed() async throws {
    try await fixture.signUp("ann@example.com")
    let closed = try await fixture.restarted { $0.registration = .closed }
    #expect(
      await AccountsError.caught { _ = try await closed.signUp(AccountsFixture.credentials("x", "")) }
        == .registrationClosed
    )
    _ = try await closed.logIn(AccountsFixture.credentials("ann@example.com"))
  }

  @Test("Sign-ups can be limited by network")
  func limitedSignUps() async throws {
    let fixture = try await AccountsFixture {
      $0.attempts.signUpsPerNetwork = RateLimit(requests: 1, seconds: 60, burst: 1)
    }
    fixture.hasher.setOverloaded(true)
    #expect(
      await AccountsError.caught { try await fixture.signUp("ann@example.com") } == .overloaded,
      "a refused computation does not count"
    )
    fixture.hasher.setOverloaded(false)
    try await fixture.signUp("ann@example.com")
    let refusal = await AccountsError.caught { try await fixture.signUp("ben@example.com") }
    // The clock of a database goes on.
    guard case .tooManyAttempts(let wait) = refusal else { throw try #require(refusal) }
    #expect((1...60).contains(wait))
    try await fixture.signUp("ben@example.com", from: "192.0.2.2")
  }
}
