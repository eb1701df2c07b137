import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepTime

@Suite("Changing the password", .timeLimit(.minutes(10)))
struct PasswordChangeTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  @Test("After a change only the new password works, and every other session of the user has ended")
  func changePassword() async throws {
    let ann = [try await fixture.signUp("ann@example.com"), try await fixture.logIn("ann@example.com")]
    let ben = try await fixture.signUp("ben@example.com")
    let live = try #require(try await fixture.live(ann[0]))
    let other = try #require(try await fixture.live(ann[1]))
    fixture.clock.advance(by: .seconds(5))
    try await fixture.accounts.changePassword(
      from: Password("a good password"),
      to: Password("a better password"),
      in: live
    )
    #expect(other.isEnded && !live.isEnded)
    #expect(try await fixture.live(ann[0]) != nil)
    #expect(try await fixture.live(ann[1]) == nil)
    #expect(try await fixture.live(ben) != nil)
    #expect(await AccountsError.caught { try await fixture.logIn("ann@example.com") } == .wrongCredentials)
    try await fixture.logIn("ann@example.com", "a better password")
    try await fixture.logIn("ben@example.com")
    let export = try #require(try await fixture.accounts.export(ann[0].user.id))
    let changedAt = Timestamp(millisecondsSince1970: fixture.now).description
    #expect(export["user"]?["passwordChangedAt"]?.stringValue == changedAt)
  }

  @Test("A new password that breaks the rules is refused before the current one is verified")
  func badNewPassword() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    _ = fixture.hasher.takeComputations()
    for (new, detail) in [
      ("short", "The password is shorter than 8 characters."),
      ("ANN@example.com", "The password is the same as the e-mail address."),
    ] {
      #expect(
        await AccountsError.caught {
          try await fixture.accounts.changePassword(from: Password("wrong"), to: Password(new), in: live)
        } == .invalid([FieldFault(pointer: "/new", detail: detail)])
      )
    }
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test(
    "A wrong current password changes nothing, and ten attempts are allowed",
    .enabled(if: TestedStore.isSQLite, TestedStore.sqliteClock)
  )
  func wrongCurrent() async throws {
    let ann = [try await fixture.signUp("ann@example.com"), try await fixture.logIn("ann@example.com")]
    let live = try #require(try await fixture.live(ann[0]))
    func change() async -> AccountsError? {
      await AccountsError.caught {
        try await fixture.accounts.changePassword(from: Password("wrong"), to: Password("12345678"), in: live)
      }
    }
    for _ in 0..<10 { #expect(await change() == .wrongPassword) }
    #expect(await change() == .tooManyAttempts(retryAfter: 60))
    #expect(try await fixture.live(ann[1]) != nil)
    try await fixture.logIn("ann@example.com")
  }

  @Test("A login with the old password fails if the password changes while it runs")
  func changeDuringLogin() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let login = AccountsError.caught { try await fixture.logIn("ann@example.com") }
    await gate.arrived()
    try await fixture.accounts.changePassword(
      from: Password("a good password"),
      to: Password("a better password"),
      in: live
    )
    await gate.open()
    #expect(await login == .wrongCredentials)
    #expect(try await fixture.accounts.sessions(of: live.user).count == 1)
  }

  @Test("Of two concurrent changes from the same password, one fails")
  func changedTwice() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let slow = AccountsError.caught {
      try await fixture.accounts.changePassword(
        from: Password("a good password"),
        to: Password("the slow password"),
        in: live
      )
    }
    await gate.arrived()
    try await fixture.accounts.changePassword(
      from: Password("a good password"),
      to: Password("the quick password"),
      in: live
    )
    await gate.open()
    #expect(await slow == .wrongPassword)
    try await fixture.logIn("ann@example.com", "the quick password")
  }

  @Test("A session that ends while it changes the password or erases the user does neither")
  func endedMeanwhile() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    let (first, second) = (Gate(), Gate())
    fixture.hasher.stopNext(at: first, second)
    async let change = AccountsError.caught {
      try await fixture.accounts.changePassword(from: Password("a good password"), to: Password("12345678"), in: live)
    }
    async let erasure = AccountsError.caught {
      try await fixture.accounts.erase(confirmedBy: Password("a good password"), in: live)
    }
    await first.arrived()
    await second.arrived()
    try await fixture.accounts.revoke(live.id, of: live.user)
    await first.open()
    await second.open()
    #expect(await change == .sessionEnded)
    #expect(await erasure == .sessionEnded)
    try await fixture.logIn("ann@example.com")
  }
}
