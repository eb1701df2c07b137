import Glibc
import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
import LockstepHTTPServer
@testable import LockstepMaintenance
@testable import LockstepRoutes
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite(
  "Admin commands, with a server",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct ServedAdminCommandTests {
  /// An administrator beside a server. It never times out, because its clock stands still.
  private static func administrator(_ users: ServerFixture) throws -> AccountAdministrator {
    try AccountAdministrator(of: .file(users.directory.file("lockstep.db")), time: users.time.serverTime) { _ in
      usleep(1000)
    }
  }

  /// Runs a command while the server's processor polls, as it does once a second by itself.
  private static func run(_ work: AdminCommand.Work, on user: UserID, _ users: ServerFixture) async throws {
    let (administrator, processor) = (try administrator(users), try processor(users))
    try await users.run {
      try administrator.run(AdminCommand(work, user))
    } polling: {
      try await processor.runPending()
    }
  }

  private static func processor(_ users: ServerFixture) throws -> AdminCommandProcessor {
    let server = try #require(users.running.withLock { $0 })
    return server.services.users.adminCommands(logger: server.components.logger)
  }

  @Test("When disabling returns, tokens are refused, waiters are notified and logging in is 403")
  func disable() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let tablet = try await users.logIn()
      let user = try #require(UserID(ada.user))
      let etag = try await ada.get("/v1/favorites").field("ETag") ?? ""
      let waiter = try await ada.waiting("/v1/favorites", ["If-None-Match: \(etag)", "Prefer: wait=30"])
      await eventually { users.waiting == 1 }
      try await Self.run(.disable, on: user, users)
      #expect(try await ada.get("/v1/favorites").status == 401)
      #expect(try await tablet.get("/v1/me").status == 401)
      #expect(try await waiter.response().status == 401)
      let body = #"{"email":"ada@example.com","password":"correct horse"}"#
      #expect(try await users.post("/v1/sessions", body).status == 403)
      // Without the password a client must not learn that the user exists.
      #expect(try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"wrong"}"#).status == 401)
      try await Self.run(.enable, on: user, users)
      #expect(try await users.logIn().get("/v1/me").status == 200)
      #expect(try await ada.get("/v1/me").status == 401)
      #expect(try await users.count("orders") == 0)
    }
  }

  @Test("A new password ends all sessions, and the old one is refused")
  func resetPassword() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let hash = try await Self.hash("another password")
      try await Self.run(.resetPassword(hash), on: try #require(UserID(ada.user)), users)
      #expect(try await ada.get("/v1/me").status == 401)
      let old = #"{"email":"ada@example.com","password":"correct horse"}"#
      #expect(try await users.post("/v1/sessions", old).status == 401)
      #expect(try await users.logIn(password: "another password").get("/v1/me").status == 200)
    }
  }

  @Test("An added user can log in, with registration closed; a taken address is refused")
  func add() async throws {
    try await ServerFixture.run({ $0.accounts.registration = .closed }) { users in
      let administrator = try Self.administrator(users)
      let (address, hash) = (try EmailAddress("Bob@example.com"), try await Self.hash(ServerFixture.password))
      try await Self.run(.add(address, hash), on: administrator.newUser(), users)
      #expect(try await users.logIn("bob").get("/v1/me").json["email"] == "Bob@example.com")
      await #expect(throws: MaintenanceError.addressTaken("Bob@example.com")) {
        try await Self.run(.add(address, hash), on: administrator.newUser(), users)
      }
      #expect(try await users.count("users") == 1)
      #expect(try await users.count("orders") == 0)
    }
  }

  @Test("A password that a command's smaller minimum allows lowers the shortest password of the store")
  func shortestPassword() async throws {
    try await ServerFixture.run { users in
      let user = try #require(UserID(try await users.signUp().user))
      let (administrator, processor) = (try Self.administrator(users), try Self.processor(users))
      for (minimum, shortest) in [(4, "4"), (6, "4"), (2, "2")] {
        try await users.run {
          try administrator.run(AdminCommand(.resetPassword(PasswordHash("h")), user, shortestPassword: minimum))
        } polling: {
          try await processor.runPending()
        }
        #expect(try await users.rows("SELECT shortest_password FROM store") == [[shortest]])
      }
    }
  }

  @Test("A higher minimum length applies to new passwords only, and a shorter one still logs in")
  func shortPassword() async throws {
    try await ServerFixture.run({ $0.accounts.passwordRules.minimumCharacters = 64 }) { users in
      let administrator = try Self.administrator(users)
      let (address, hash) = (try EmailAddress("ada@example.com"), try await Self.hash("short"))
      try await Self.run(.add(address, hash), on: administrator.newUser(), users)
      #expect(try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"short"}"#).status == 201)
      #expect(try await users.post("/v1/users", #"{"email":"bob@example.com","password":"short"}"#).status != 201)
    }
  }

  @Test("An erased user is removed from memory, tables and file, also from the admin command")
  func erase() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada-zq")
      try await ada.addFavorites("favorite-zq")
      try await Self.run(.erase, on: try #require(UserID(ada.user)), users)
      #expect(try await ada.get("/v1/favorites").status == 401)
      #expect(try await users.rows("SELECT 1 FROM users UNION ALL SELECT 1 FROM journal").isEmpty)
      await #expect(throws: MaintenanceError.noSuchUser(ada.user)) {
        try await Self.run(.disable, on: try #require(UserID(ada.user)), users)
      }
      await users.stop()
      let bytes = try users.directory.contents(of: "lockstep.db")
      #expect(!String(decoding: bytes, as: UTF8.self).contains("-zq"))
    }
  }

  @Test("A command is complete only after the sessions have ended in memory")
  func complete() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let server = try #require(users.running.withLock { $0 })
      let path = users.directory.file("lockstep.db")
      let seen = LockedState<[Result<AdminCommandRecords.Status?, any Error>]>([])
      let publisher = server.services.users.publisher
      publisher.add(
        SessionEndObserver {
          let status = Result { try Self.status(of: path) }
          seen.withLock { $0.append(status) }
        }
      )
      try await Self.run(.disable, on: try #require(UserID(ada.user)), users)
      let statuses = try seen.withLock { $0 }.map { try $0.get() }
      #expect(statuses == [AdminCommandRecords.Status(.done, outcome: .done, isComplete: false)])
    }
  }

  /// The status of the only admin command in a store.
  private static func status(of path: String) throws -> AdminCommandRecords.Status? {
    let connection = try SQLiteConnection(path: path, access: .readOnly, journal: .asFound)
    let id = try connection.first("SELECT id FROM orders") { row in try row[0] as String }
    return try AdminCommandRecords(connection: .sqlite(connection)).status(of: try #require(id))
  }

  private static func hash(_ password: String) async throws -> PasswordHash {
    let workers = try HashingPool(threads: 1, capacity: 1)
    defer { workers.shutDown() }
    let hasher = Argon2Hasher(try Sodium(), strength: Argon2Strength(memoryKiB: 8, passes: 1), workers: workers)
    return try await hasher.hash(Password(password))
  }
}

@Suite(
  "Admin commands, without a server or with one that does nothing",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct UnservedAdminCommandTests {
  private let fixture: SyncFixture

  init() throws {
    fixture = try SyncFixture()
  }

  private func administrator(pause: @escaping @Sendable (Duration) -> Void = { _ in }) throws -> AccountAdministrator {
    try AccountAdministrator(of: .file(fixture.files.path), time: fixture.clock.time, pause: pause)
  }

  private func rows(_ sql: String) throws -> [[String]] { try StoreFile.rows(sql, in: fixture.files.path) }

  @Test("Without a server the command does the work itself, and leaves no row")
  func alone() async throws {
    let user = try await fixture.user(1).user
    fixture.store.close()
    let administrator = try administrator()
    try administrator.run(AdminCommand(.disable, user))
    #expect(try rows("SELECT disabled_at FROM users") == [["1000000"]])
    try administrator.run(AdminCommand(.enable, user))
    try administrator.run(AdminCommand(.resetPassword(PasswordHash("new")), user, shortestPassword: 3))
    #expect(try rows("SELECT shortest_password FROM store") == [["3"]])
    #expect(try rows("SELECT disabled_at, password_hash, password_version FROM users") == [["NULL", "new", "2"]])
    try administrator.run(
      AdminCommand(.add(try EmailAddress("bob@example.com"), PasswordHash("h")), administrator.newUser())
    )
    #expect(throws: MaintenanceError.addressTaken("BOB@example.com")) {
      try administrator.run(
        AdminCommand(.add(try EmailAddress("BOB@example.com"), PasswordHash("h")), administrator.newUser())
      )
    }
    try administrator.run(AdminCommand(.erase, user))
    #expect(throws: MaintenanceError.noSuchUser("\(user)")) { try administrator.run(AdminCommand(.enable, user)) }
    #expect(try rows("SELECT email, disabled_at FROM users") == [["bob@example.com", "NULL"]])
    #expect(try rows("SELECT * FROM orders").isEmpty)
  }

  @Test("A command that times out is withdrawn, and nothing was changed")
  func notTaken() async throws {
    let user = try await fixture.user(1).user
    let clock = fixture.clock
    #expect(throws: MaintenanceError.notTaken(path: fixture.files.path)) {
      try administrator { clock.advance(by: $0) }.run(AdminCommand(.disable, user))
    }
    #expect(clock.time.elapsed() >= CommandExchange.patience)
    #expect(try rows("SELECT * FROM orders").isEmpty)
    #expect(try rows("SELECT disabled_at FROM users") == [["NULL"]])
  }

  /// Interrupts the command before its second poll, and records `hold()` and `release()`.
  private final class Interrupted: Interruption {
    private let state = Mutex((isHeld: false, looks: 0))
    var isHeld: Bool { state.withLock { $0.isHeld } }

    func hold() { state.withLock { $0.isHeld = true } }
    func release() { state.withLock { $0.isHeld = false } }
    var isInterrupted: Bool {
      state.withLock { state in
        state.looks += 1
        return state.looks > 1
      }
    }
  }

  @Test("An interrupted command withdraws what no server has run, and releases the signals")
  func withdrawn() async throws {
    let user = try await fixture.user(1).user
    let interruption = Interrupted()
    let administrator = try AccountAdministrator(
      of: .file(fixture.files.path),
      time: fixture.clock.time,
      interruption: interruption
    ) { _ in
      #expect(interruption.isHeld)
    }
    #expect(throws: AdminCommandInterruptedError.withdrawn) { try administrator.run(AdminCommand(.erase, user)) }
    #expect(!interruption.isHeld)
    #expect(try rows("SELECT * FROM orders").isEmpty)
    #expect(try rows("SELECT count(*) FROM users") == [["1"]])
  }

  @Test("A command that is interrupted too late reports its outcome", arguments: [true, false])
  func tooLate(isThere: Bool) async throws {
    let user = try await fixture.user(1).user
    let store = fixture.store
    let administrator = try AccountAdministrator(
      of: .file(fixture.files.path),
      time: fixture.clock.time,
      interruption: Interrupted()
    ) { _ in
      // It has an outcome, but is not complete.
      try? store.write { connection in
        let records = AdminCommandRecords(connection: connection)
        for (id, _) in try records.incomplete(at: Timestamp(millisecondsSince1970: 0)) {
          let command = try #require(try records.pending(id))
          try records.setOutcome(command.run(in: connection, at: Timestamp(millisecondsSince1970: 7)).outcome, of: id)
        }
      }
    }
    let target = isThere ? user : SyncFixture.session(2).user
    #expect(throws: AdminCommandInterruptedError.tooLate(isThere ? .done : .noSuchUser)) {
      try administrator.run(AdminCommand(.disable, target))
    }
    #expect(try rows("SELECT disabled_at FROM users") == [[isThere ? "7" : "NULL"]])
  }

  @Test("If the server ends after the commit, the command learns the outcome from its row")
  func endedBetween() async throws {
    let user = try await fixture.user(1).user
    let (store, path) = (fixture.store, fixture.files.path)
    let hasEnded = Atomic(false)
    try administrator { _ in
      if hasEnded.exchange(true, ordering: .relaxed) { return }
      try? store.write { connection in
        let records = AdminCommandRecords(connection: connection)
        for (id, _) in try records.incomplete(at: Timestamp(millisecondsSince1970: 0)) {
          let command = try #require(try records.pending(id))
          _ = try command.run(in: connection, at: Timestamp(millisecondsSince1970: 7))
          try records.setOutcome(.done, of: id)
        }
      }
      store.close()
    }
    .run(AdminCommand(.disable, user))
    #expect(try StoreFile.rows("SELECT disabled_at FROM users", in: path) == [["7"]])
    #expect(try rows("SELECT * FROM orders").isEmpty)
  }

  @Test("The row of a killed command loses its secrets once a server has run it, and is deleted after some minutes")
  func leftBehind() async throws {
    let user = try await fixture.user(1).user
    let store = fixture.store
    func insert(_ id: String, _ work: AdminCommand.Work, _ user: UserID, at: Int64) async throws {
      try await store.writer.write {
        try AdminCommandRecords(connection: $0)
          .insert(AdminCommand(work, user), id: id, at: Timestamp(millisecondsSince1970: at))
      }
    }
    let address = try EmailAddress("bob@example.com")
    // The id belongs to another user, which cannot happen with real commands. It must not block the
    // other commands.
    try await insert("a", .add(address, PasswordHash("secret")), user, at: 0)
    try await insert("b", .resetPassword(PasswordHash("secret")), user, at: 1)
    try await insert("c", .add(address, PasswordHash("secret")), SyncFixture.session(2).user, at: 2)
    let moment = Atomic<Int64>(3)
    let processor = AdminCommandProcessor(
      accounts: try await accounts(),
      readers: store.readers,
      writer: store.writer,
      evict: { _ in },
      collections: { _, _ in .deleted },
      now: { Timestamp(millisecondsSince1970: moment.load(ordering: .relaxed)) },
      logger: .silent
    )
    await #expect(throws: AccountsError.self) { try await processor.runPending() }
    let rows = try rows("SELECT id, outcome, settled_at, user_id, email, password_hash FROM orders ORDER BY id")
    let nothing = ["NULL", "NULL", "NULL"]
    #expect(rows.dropFirst() == [["b", "done", "3"] + nothing, ["c", "done", "3"] + nothing])
    #expect(rows.first?[1] == "NULL")
    moment.store(AdminCommandRecords.lifetime + 100, ordering: .relaxed)
    try await insert("d", .enable, user, at: AdminCommandRecords.lifetime + 50)
    // The failing command is too old now.
    try await processor.runPending()
    #expect(try self.rows("SELECT id FROM orders") == [["d"]])
  }

  @Test("A server that starts long after does not run the row of a killed command")
  func stale() async throws {
    let user = try await fixture.user(1).user
    let store = fixture.store
    try await store.writer.write {
      try AdminCommandRecords(connection: $0).insert(
        AdminCommand(.erase, user),
        id: "a",
        at: Timestamp(millisecondsSince1970: 0)
      )
    }
    let processor = AdminCommandProcessor(
      accounts: try await accounts(),
      readers: store.readers,
      writer: store.writer,
      evict: { _ in },
      collections: { _, _ in .deleted },
      now: { Timestamp(millisecondsSince1970: AdminCommandRecords.validity + 1) },
      logger: .silent
    )
    try await processor.runPending()
    #expect(try rows("SELECT count(*) FROM users") == [["1"]])
    #expect(try rows("SELECT * FROM orders").isEmpty)
  }

  @Test("If the server ends before it runs the command, the operator's process does the work")
  func endedBefore() async throws {
    let user = try await fixture.user(1).user
    let (store, clock) = (fixture.store, fixture.clock)
    try administrator { duration in
      store.close()
      clock.advance(by: duration)
    }
    .run(AdminCommand(.disable, user))
    #expect(try rows("SELECT count(*) FROM users WHERE disabled_at IS NOT NULL") == [["1"]])
    #expect(try rows("SELECT * FROM orders").isEmpty)
  }

  @Test("A store that an older server serves is refused before anything is written")
  func older() async throws {
    fixture.store.close()
    let server = try fixture.files.store()
    let known = Migration.all.count
    try await server.writer.write { connection in
      try connection.execute("PRAGMA user_version = \(known - 1); DELETE FROM migrations WHERE number = \(known)")
    }
    let user = SyncFixture.session(1).user
    #expect(throws: MaintenanceError.olderSchema(path: fixture.files.path, found: known - 1, known: known)) {
      try administrator().run(AdminCommand(.disable, user))
    }
    server.close()
  }

  @Test("Users are found by their address in any case, or by their id")
  func names() async throws {
    let session = try await fixture.user(1)
    let administrator = try administrator()
    for name in ["1@example.com", "1@EXAMPLE.com", "\(session.user)"] {
      #expect(try administrator.user(name).id == session.user)
    }
    for name in ["2@example.com", "unknown", "\(SyncFixture.session(2).user)"] {
      #expect(throws: MaintenanceError.noSuchUser(name)) { try administrator.user(name) }
    }
    let nowhere = try AccountAdministrator(of: .file("/nowhere/x")) { _ in }
    #expect(throws: MaintenanceError.missing(path: "/nowhere/x")) { try nowhere.user("1@example.com") }
    #expect(throws: MaintenanceError.missing(path: "/nowhere/x")) {
      try nowhere.run(AdminCommand(.enable, session.user))
    }
  }

  @Test("The list has every user in the order of signing up, with the sessions that have not expired")
  func list() async throws {
    let accounts = try await accounts()
    let ann = try await accounts.signUp(AccountsFixture.credentials("ann@example.com"))
    _ = try await accounts.logIn(AccountsFixture.credentials("ann@example.com"))
    let bob = try await accounts.signUp(AccountsFixture.credentials("bob@example.com"))
    _ = try await accounts.setDisabled(true, bob.user.id)
    func list(after last: UserID? = nil, limit: Int = 9, at now: Int64 = 1_000_000) throws -> [UserListing] {
      try administrator().store.read {
        try UserListing.page(after: last, limit: limit, from: $0, at: Timestamp(millisecondsSince1970: now))
      }
    }
    let now = Timestamp(millisecondsSince1970: 1_000_000)
    #expect(
      try list() == [
        UserListing(user: ann.user, disabledAt: nil, passwordVersion: 1, sessions: 2, lastSeenAt: now),
        UserListing(user: bob.user, disabledAt: now, passwordVersion: 1, sessions: 0, lastSeenAt: nil),
      ]
    )
    #expect(try list(at: 1_000_000_000_000).map(\.sessions) == [0, 0])
    #expect(try list(limit: 1).map(\.user) == [ann.user])
    #expect(try list(after: ann.user.id).map(\.user) == [bob.user])
    #expect(try list(after: bob.user.id) == [])
  }

  private func accounts() async throws -> StoredAccounts {
    let sodium = try Sodium()
    let store = fixture.store
    return StoredAccounts(
      store: store,
      tokenKey: try await store.writer.write { try TokenKey.findOrMake(in: $0, random: sodium.randomWord) },
      hasher: StubHasher(),
      random: sodium.randomWord,
      time: fixture.clock.time,
      observer: CommitPublisher()
    )
  }
}

private struct SessionEndObserver: CommitObserver {
  let note: @Sendable () -> Void

  func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) { note() }
}
