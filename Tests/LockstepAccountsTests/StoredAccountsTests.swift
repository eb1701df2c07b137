import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Accounts in the store", .timeLimit(.minutes(10)))
struct StoredAccountsTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  @Test("Each user sees only their own sessions, oldest first, and cannot end those of another user")
  func isolated() async throws {
    let ann = [try await fixture.signUp("ann@example.com", device: "a1"), try await fixture.logIn("ann@example.com")]
    let ben = try await fixture.signUp("ben@example.com", device: "b1")
    #expect(try await fixture.accounts.sessions(of: ann[0].user.id) == ann.map(\.session))
    #expect(try await fixture.accounts.sessions(of: ben.user.id) == [ben.session])
    #expect(
      await AccountsError.caught { try await fixture.accounts.revoke(ann[0].session.id, of: ben.user.id) }
        == .noSuchSession
    )
    #expect(try await fixture.live(ann[0]) != nil)
    let export = try #require(try await fixture.accounts.export(ben.user.id))
    #expect(!JSON.object(export).encoded().description.contains("ann"))
  }

  @Test("A session ends only once")
  func revokedTwice() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    try await fixture.accounts.revoke(ann.session.id, of: ann.user.id)
    #expect(
      await AccountsError.caught { try await fixture.accounts.revoke(ann.session.id, of: ann.user.id) }
        == .noSuchSession
    )
    #expect(try await fixture.accounts.sessions(of: ann.user.id).isEmpty)
  }

  @Test("A prepared change is part of the transaction that runs it: if the transaction fails, nothing changes")
  func composed() async throws {
    struct Elsewhere: Error {}
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    let accounts = fixture.accounts
    let signUp = try await accounts.prepareSignUp(AccountsFixture.credentials("ben@example.com"))
    let revocation = accounts.revoking(ann.session.id, of: ann.user.id)
    let change = try await accounts.prepareChangePassword(
      from: Password("a good password"),
      to: Password("a better password"),
      in: live,
      from: .test
    ) { _ in }
    await #expect(throws: Elsewhere.self) {
      try await fixture.store.writer.write { connection in
        _ = try signUp.run(in: connection)
        _ = try change.run(in: connection)
        _ = try revocation.run(in: connection)
        throw Elsewhere()
      }
    }
    #expect(try await fixture.live(ann) === live && !live.isEnded)
    try await fixture.logIn("ann@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM users") == 1)

    let written = try await fixture.store.writer.write { connection in
      (try signUp.run(in: connection), try revocation.run(in: connection))
    }
    #expect(try await fixture.live(accounts.finish(written.0)) != nil)
    accounts.finish(written.1)
    #expect(live.isEnded)
    #expect(try await fixture.live(ann) == nil)
  }

  @Test(
    "Text that contains SQL is stored as text",
    arguments: ["'; DROP TABLE users; --", "\" OR 1=1 --", "x' || (SELECT key FROM token_key) || '"]
  )
  func injection(text: String) async throws {
    let email = "o'neil'/**/or/**/1=1@example.com"
    let ann = try await fixture.signUp(email, text + "........", device: text)
    let live = try #require(try await fixture.live(ann))
    fixture.directory.note(cursor: text, of: live)
    try await fixture.directory.flush()
    let sessions = try await fixture.restarted().sessions(of: ann.user.id)
    #expect(sessions.map(\.device) == [text] && sessions.map(\.cursor) == [text])
    #expect(await AccountsError.caught { try await fixture.logIn(text, text) } == .wrongCredentials)
    #expect(SessionID(text) == nil)
    try await fixture.logIn(email, text + "........")
  }

  @Test("A closed store is an error")
  func closedStore() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let revocation = fixture.accounts.revoking(ann.session.id, of: ann.user.id)
    fixture.store.close()
    #expect(await AccountsError.caught { _ = try await fixture.accounts.commit(revocation) } == .store(.closed))
    #expect(await AccountsError.caught { try await fixture.signUp("ben@example.com") } == .store(.closed))
  }

  @Test("The key of the tags is created once and kept")
  func tokenKey() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let restarted = try await fixture.restarted()
    #expect(
      try await restarted.directory.session(of: Array(ann.token.text.utf8), at: fixture.now)?.id == ann.session.id
    )
    #expect(try await fixture.count("SELECT count(*) FROM token_key") == 1)
  }
}
