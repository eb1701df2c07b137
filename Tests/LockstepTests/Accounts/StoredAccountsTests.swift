import JSON
import SQLite
import TestSupport
import Testing

@testable import Lockstep

@Suite("Accounts in the store")
struct StoredAccountsTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  /// What a call fails with.
  private func failure(_ body: () async throws -> Void) async -> AccountsError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? AccountsError
    }
  }

  // MARK: Signing up

  @Test("Signing up gives a user, a session and a token that works, all of it on disk")
  func signUp() async throws {
    let ann = try await fixture.signUp("Ann@Example.com", device: " phone ")
    #expect(ann.user.email == "Ann@Example.com")
    #expect(ann.user.createdAt.millisecondsSince1970 == fixture.now)
    #expect(ann.session.device == "phone" && ann.session.createdAt == ann.user.createdAt)
    #expect(try await fixture.live(ann)?.user == ann.user.id)
    #expect(try await fixture.restarted().user(ann.user.id) == ann.user)
    #expect(try await fixture.restarted().sessions(of: ann.user.id) == [ann.session])
    let row = try fixture.files.sqlite().first("SELECT email, email_key FROM users") { row in
      [try row[0] as String, try row[1]]
    }
    #expect(row == ["Ann@Example.com", "ann@example.com"], "seen by another program")
  }

  @Test("Neither the token nor the password is anywhere in the store's files")
  func secrets() async throws {
    let ann = try await fixture.signUp("ann@example.com", "open sesame 123")
    try await fixture.accounts.directory.flush()
    for file in ["lockstep.db", "lockstep.db-wal"] {
      let text = String(decoding: try fixture.files.folder.contents(of: file), as: Unicode.ASCII.self)
      #expect(!text.contains(ann.token.text.dropFirst(3)) && !text.contains("open sesame"))
    }
  }

  @Test("What is wrong is told field by field, all at once, and nothing is hashed or changed")
  func invalid() async throws {
    let faults = [
      FieldFault(pointer: "/email", detail: "The address has no @: it should look like name@example.com."),
      FieldFault(pointer: "/password", detail: "The password is shorter than 8 characters."),
      FieldFault(pointer: "/device", detail: "The device's name is empty: leave it out instead."),
    ]
    #expect(await failure { try await fixture.signUp("ann", "1234567", device: " ") } == .invalid(faults))
    #expect(
      await failure { try await fixture.signUp("ann@example.com", "Ann@Example.com") }
        == .invalid([FieldFault(pointer: "/password", detail: "The password is the same as the e-mail address.")])
    )
    #expect(fixture.hasher.takeComputations().isEmpty)
    #expect(try await fixture.count("SELECT count(*) FROM users") == 0)
  }

  @Test("An address is taken whatever its case, before anything is hashed")
  func taken() async throws {
    try await fixture.signUp("ann@example.com")
    _ = fixture.hasher.takeComputations()
    #expect(await failure { try await fixture.signUp("ANN@example.com") } == .addressTaken)
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test("Of two who sign up with one address at once, one gets it")
  func race() async throws {
    let (first, second) = (Gate(), Gate())
    fixture.hasher.stopNext(at: first, second)
    async let one = failure { try await fixture.signUp("ann@example.com", "the one password") }
    async let other = failure { try await fixture.signUp("Ann@example.com", "the other password") }
    // Both have found the address free.
    await first.arrived()
    await second.arrived()
    await first.open()
    await second.open()
    let outcomes = await [one, other]
    #expect(outcomes.count { $0 == nil } == 1 && outcomes.count { $0 == .addressTaken } == 1, "\(outcomes)")
    #expect(try await fixture.count("SELECT count(*) FROM users") == 1)
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 1)
  }

  @Test("When registration is closed nobody signs up, and everybody logs in")
  func closed() async throws {
    try await fixture.signUp("ann@example.com")
    let closed = try await fixture.restarted { $0.registration = .closed }
    #expect(
      await failure { _ = try await closed.signUp(AccountsFixture.credentials("x", "")) } == .registrationClosed
    )
    _ = try await closed.logIn(AccountsFixture.credentials("ann@example.com"))
  }

  @Test("Sign-ups can be limited by network")
  func limitedSignUps() async throws {
    let fixture = try await AccountsFixture {
      $0.attempts.signUpsPerNetwork = Allowance(burst: 1, every: .seconds(60))
    }
    fixture.hasher.setOverloaded(true)
    #expect(await failure { try await fixture.signUp("ann@example.com") } == .overloaded, "which doesn't count")
    fixture.hasher.setOverloaded(false)
    try await fixture.signUp("ann@example.com")
    #expect(await failure { try await fixture.signUp("ben@example.com") } == .tooManyAttempts(retryAfter: 60))
    try await fixture.signUp("ben@example.com", from: "192.0.2.2")
  }

  // MARK: Logging in

  @Test("Logging in gives another session and another token, and both work")
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
    "An unknown address and a wrong password are told the same, and cost the same computations",
    arguments: [
      ("ann@example.com", "a wrong password"), ("nobody@example.com", "a good password"), ("no address", "x"), ("", ""),
      ("ann@example.com'--", "' OR 1=1 --"),
      (String(repeating: "a", count: 10_000), String(repeating: "b", count: 10_000)),
    ]
  )
  func wrong(email: String, password: String) async throws {
    try await fixture.signUp("ann@example.com")
    _ = fixture.hasher.takeComputations()
    #expect(await failure { try await fixture.logIn(email, password) } == .wrongCredentials)
    #expect(fixture.hasher.takeComputations() == ["verify"])
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 1)
  }

  @Test("A device's name that is none is told before the password is looked at")
  func wrongDevice() async throws {
    let fault = FieldFault(pointer: "/device", detail: "The device's name contains a control character.")
    #expect(await failure { try await fixture.logIn("ann@example.com", device: "a\0b") } == .invalid([fault]))
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test("After too many wrong passwords even the right one is refused, with the time to wait and without a computation")
  func limited() async throws {
    try await fixture.signUp("ann@example.com", from: "198.51.100.1")
    for _ in 0..<10 {
      #expect(await failure { try await fixture.logIn("Ann@example.com", "wrong") } == .wrongCredentials)
    }
    _ = fixture.hasher.takeComputations()
    #expect(await failure { try await fixture.logIn("ann@example.com") } == .tooManyAttempts(retryAfter: 60))
    #expect(fixture.hasher.takeComputations().isEmpty)
    try await fixture.logIn("ann@example.com", from: "198.51.100.1")
    fixture.clock.advance(by: .seconds(60))
    try await fixture.logIn("ann@example.com")
  }

  @Test("Wrong passwords for an address that nobody has are limited alike")
  func limitedUnknown() async throws {
    for _ in 0..<10 {
      #expect(await failure { try await fixture.logIn("nobody@example.com") } == .wrongCredentials)
    }
    #expect(await failure { try await fixture.logIn("nobody@example.com") } == .tooManyAttempts(retryAfter: 60))
  }

  @Test("When the hasher is overloaded it's told, and doesn't count as an attempt")
  func overloaded() async throws {
    try await fixture.signUp("ann@example.com")
    fixture.hasher.setOverloaded(true)
    for _ in 0..<100 { #expect(await failure { try await fixture.logIn("ann@example.com", "x") } == .overloaded) }
    #expect(await failure { try await fixture.signUp("ben@example.com") } == .overloaded)
    fixture.hasher.setOverloaded(false)
    try await fixture.logIn("ann@example.com")
  }

  @Test("A password whose hash is outdated is hashed anew at login; others who log in meanwhile aren't troubled")
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
    #expect(fixture.hasher.takeComputations() == ["verify"], "now it isn't outdated any more")
  }

  @Test("A user has a bounded number of sessions: a login beyond it ends the one that wasn't used for longest")
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

  @Test("Sessions that expired more than a day ago are swept away by logins")
  func swept() async throws {
    for number in 0..<20 { try await fixture.signUp("user\(number)@example.com") }
    fixture.clock.advance(by: .seconds(91 * 86_400))
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 21, "expired for just a day")
    fixture.clock.advance(by: .milliseconds(1))
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 6, "sixteen at a time")
    try await fixture.logIn("user0@example.com")
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 3)
  }

  @Test("A disabled account has no sessions and logs in nowhere, which only its password is told")
  func disabled() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let live = try #require(try await fixture.live(ann))
    #expect(try await fixture.accounts.setDisabled(true, ann.user.id))
    #expect(try await fixture.live(ann) == nil)
    #expect(live.isEnded)
    #expect(await failure { try await fixture.logIn("ann@example.com") } == .disabled)
    #expect(await failure { try await fixture.logIn("ann@example.com", "wrong") } == .wrongCredentials)
    #expect(try await fixture.accounts.setDisabled(false, ann.user.id))
    try await fixture.logIn("ann@example.com")
    #expect(try await fixture.live(ann) == nil, "what has ended stays so")
    #expect(try await !fixture.accounts.setDisabled(true, UserID(UUIDv7(milliseconds: 0, random12: 0, random62: 0))))
  }

  @Test("An account that somebody disabled by hand has no valid token after the next start")
  func disabledByHand() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    _ = try await fixture.store.writer.write { try $0.run("UPDATE users SET disabled_at = 1") }
    let restarted = try await fixture.restarted()
    #expect(try await restarted.directory.session(of: Array(ann.token.text.utf8), at: fixture.now) == nil)
  }

  @Test("A login that is under way when the account is disabled fails")
  func disabledMeanwhile() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let login = failure { try await fixture.logIn("ann@example.com") }
    await gate.arrived()
    _ = try await fixture.accounts.setDisabled(true, ann.user.id)
    await gate.open()
    #expect(await login == .disabled)
    #expect(try await fixture.count("SELECT count(*) FROM sessions") == 0)
  }

  // MARK: Sessions

  @Test("Each user sees their own sessions, oldest first, and can't end another's")
  func isolated() async throws {
    let ann = [try await fixture.signUp("ann@example.com", device: "a1"), try await fixture.logIn("ann@example.com")]
    let ben = try await fixture.signUp("ben@example.com", device: "b1")
    #expect(try await fixture.accounts.sessions(of: ann[0].user.id) == ann.map(\.session))
    #expect(try await fixture.accounts.sessions(of: ben.user.id) == [ben.session])
    #expect(
      await failure { try await fixture.accounts.revoke(ann[0].session.id, of: ben.user.id) } == .noSuchSession
    )
    #expect(try await fixture.live(ann[0]) != nil)
    let export = try #require(try await fixture.accounts.export(ben.user.id))
    #expect(!JSON.object(export).encoded().description.contains("ann"))
  }

  @Test("A session ends once")
  func revokedTwice() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    try await fixture.accounts.revoke(ann.session.id, of: ann.user.id)
    #expect(
      await failure { try await fixture.accounts.revoke(ann.session.id, of: ann.user.id) } == .noSuchSession
    )
    #expect(try await fixture.accounts.sessions(of: ann.user.id).isEmpty)
  }

  // MARK: Changing the password

  @Test("A changed password is the only one, and ends every other session of that user")
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
    #expect(await failure { try await fixture.logIn("ann@example.com") } == .wrongCredentials)
    try await fixture.logIn("ann@example.com", "a better password")
    try await fixture.logIn("ben@example.com")
    let export = try #require(try await fixture.accounts.export(ann[0].user.id))
    let changedAt = Timestamp(millisecondsSince1970: fixture.now).description
    #expect(export["user"]?["passwordChangedAt"]?.stringValue == changedAt)
  }

  @Test("A new password that breaks the rules is told, and the current one isn't looked at")
  func badNewPassword() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    _ = fixture.hasher.takeComputations()
    for (new, detail) in [
      ("short", "The password is shorter than 8 characters."),
      ("ANN@example.com", "The password is the same as the e-mail address."),
    ] {
      #expect(
        await failure {
          try await fixture.accounts.changePassword(from: Password("wrong"), to: Password(new), in: live)
        } == .invalid([FieldFault(pointer: "/new", detail: detail)])
      )
    }
    #expect(fixture.hasher.takeComputations().isEmpty)
  }

  @Test("A wrong current password changes nothing, and may be tried ten times")
  func wrongCurrent() async throws {
    let ann = [try await fixture.signUp("ann@example.com"), try await fixture.logIn("ann@example.com")]
    let live = try #require(try await fixture.live(ann[0]))
    func change() async -> AccountsError? {
      await failure {
        try await fixture.accounts.changePassword(from: Password("wrong"), to: Password("12345678"), in: live)
      }
    }
    for _ in 0..<10 { #expect(await change() == .wrongPassword) }
    #expect(await change() == .tooManyAttempts(retryAfter: 60))
    #expect(try await fixture.live(ann[1]) != nil)
    try await fixture.logIn("ann@example.com")
  }

  @Test("A login with the old password that is under way when it changes fails")
  func changeDuringLogin() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let login = failure { try await fixture.logIn("ann@example.com") }
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

  @Test("Of two changes at once from the same password, one fails")
  func changedTwice() async throws {
    let live = try #require(try await fixture.live(try await fixture.signUp("ann@example.com")))
    let gate = Gate()
    fixture.hasher.stopNext(at: gate)
    async let slow = failure {
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
    async let change = failure {
      try await fixture.accounts.changePassword(from: Password("a good password"), to: Password("12345678"), in: live)
    }
    async let erasure = failure {
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

  // MARK: Leaving

  @Test("Erasing a user leaves no row of theirs in any table, and everything of others")
  func erase() async throws {
    // A table as others will add, so that the cascade is seen to work.
    try await fixture.store.writer.write { connection in
      try connection.execute(
        "CREATE TABLE things (user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE, name TEXT) STRICT"
      )
    }
    let ann = [try await fixture.signUp("ann@example.com"), try await fixture.logIn("ann@example.com")]
    let ben = try await fixture.signUp("ben@example.com")
    for user in [ann[0].user.id, ben.user.id] {
      _ = try await fixture.store.writer.write { try $0.run("INSERT INTO things VALUES (?, 'x')", user) }
    }
    let live = try #require(try await fixture.live(ann[0]))
    let other = try #require(try await fixture.live(ann[1]))
    #expect(
      await failure { try await fixture.accounts.erase(confirmedBy: Password("wrong"), in: live) } == .wrongPassword
    )
    #expect(try await fixture.count("SELECT count(*) FROM users") == 2)

    try await fixture.accounts.erase(confirmedBy: Password("a good password"), in: live)
    #expect(live.isEnded && other.isEnded)
    for signedIn in ann { #expect(try await fixture.live(signedIn) == nil) }
    #expect(try await fixture.accounts.user(live.user) == nil)
    #expect(try await fixture.accounts.export(live.user) == nil)
    #expect(await failure { try await fixture.logIn("ann@example.com") } == .wrongCredentials)
    let rows = try await rowsMentioning(live.user)
    #expect(rows == [:])
    #expect(try await rowsMentioning(ben.user.id) == ["users": 1, "sessions": 1, "things": 1])
    #expect(try await fixture.live(ben) != nil)
    try await fixture.signUp("ann@example.com")
  }

  /// How many rows of each table have the user's id in one of their columns.
  private func rowsMentioning(_ user: UserID) async throws -> [String: Int] {
    let connection = try fixture.files.sqlite()
    let columns = try connection.all(
      """
      SELECT t.name, c.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
      WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'
      """
    ) { row in (try row[0] as String, try row[1] as String) }
    var rows: [String: Int] = [:]
    for (table, column) in columns {
      try connection.execute("CREATE TEMP TABLE found AS SELECT 1 FROM \(table) WHERE \(column) = '\(user)'")
      let count = try connection.first("SELECT count(*) FROM found") { row in try row[0] as Int } ?? 0
      try connection.execute("DROP TABLE found")
      if count > 0 { rows[table] = count }
    }
    return rows
  }

  @Test("The export has everything about the account but its secrets")
  func export() async throws {
    let ann = try await fixture.signUp("ann@example.com", device: "phone")
    let live = try #require(try await fixture.live(ann))
    fixture.directory.note(cursor: "c1", of: live)
    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(ann)
    let export = try #require(try await fixture.accounts.export(ann.user.id))
    #expect(
      JSON.object(export) == [
        "user": [
          "id": .string("\(ann.user.id)"), "email": "ann@example.com", "createdAt": "1970-01-01T00:16:40.000Z",
          "passwordChangedAt": "1970-01-01T00:16:40.000Z",
        ],
        "sessions": [
          [
            "id": .string("\(ann.session.id)"), "device": "phone", "createdAt": "1970-01-01T00:16:40.000Z",
            "lastSeenAt": "1970-01-01T00:17:40.000Z", "expiresAt": "1970-04-01T00:17:40.000Z", "cursor": "c1",
          ]
        ],
      ]
    )
  }

  // MARK: Units

  @Test("A prepared change is part of whatever transaction it's run in: when that fails, nothing has happened")
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
      in: live
    )
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
    "SQL in any text is text",
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
    #expect(await failure { try await fixture.logIn(text, text) } == .wrongCredentials)
    #expect(SessionID(text) == nil)
    try await fixture.logIn(email, text + "........")
  }

  @Test("A closed store is told as such")
  func closedStore() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let revocation = fixture.accounts.revoking(ann.session.id, of: ann.user.id)
    fixture.store.close()
    #expect(await failure { _ = try await fixture.accounts.commit(revocation) } == .store(.closed))
    #expect(await failure { try await fixture.signUp("ben@example.com") } == .store(.closed))
  }

  @Test("The key of the tags is made once, and kept")
  func tokenKey() async throws {
    let ann = try await fixture.signUp("ann@example.com")
    let restarted = try await fixture.restarted()
    #expect(
      try await restarted.directory.session(of: Array(ann.token.text.utf8), at: fixture.now)?.id == ann.session.id
    )
    #expect(try await fixture.count("SELECT count(*) FROM token_key") == 1)
  }
}
