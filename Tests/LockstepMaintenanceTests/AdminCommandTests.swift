import Glibc
import LockstepHTTP
import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepHTTPServer
@testable import LockstepMaintenance
@testable import LockstepStore
@testable import LockstepSync
@testable import LockstepTime

@Suite("Admin commands, with a server", .timeLimit(.minutes(10)))
struct ServedAdminCommandTests {
  private static let users = "/v1/admin/users"

  @Test("When disabling returns, tokens are refused, waiters are notified and logging in is 403")
  func disable() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let tablet = try await users.logIn()
      let etag = try await ada.get("/v1/favorites").field("ETag") ?? ""
      let waiter = try await ada.waiting("/v1/favorites", ["If-None-Match: \(etag)", "Prefer: wait=30"])
      await eventually { users.waiting == 1 }
      try await users.command(.patch, "\(Self.users)/\(ada.user)", ["disabled": true])
      #expect(try await ada.get("/v1/favorites").status == 401)
      #expect(try await tablet.get("/v1/me").status == 401)
      #expect(try await waiter.response().status == 401)
      let body = #"{"email":"ada@example.com","password":"correct horse"}"#
      #expect(try await users.post("/v1/sessions", body).status == 403)
      // Without the password a client must not learn that the user exists.
      #expect(try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"wrong"}"#).status == 401)
      try await users.command(.patch, "\(Self.users)/\(ada.user)", ["disabled": false])
      #expect(try await users.logIn().get("/v1/me").status == 200)
      #expect(try await ada.get("/v1/me").status == 401)
    }
  }

  @Test("A new password ends all sessions, and the old one is refused")
  func resetPassword() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      try await users.command(.patch, "\(Self.users)/\(ada.user)", ["password": "another password"])
      #expect(try await ada.get("/v1/me").status == 401)
      let old = #"{"email":"ada@example.com","password":"correct horse"}"#
      #expect(try await users.post("/v1/sessions", old).status == 401)
      #expect(try await users.logIn(password: "another password").get("/v1/me").status == 200)
    }
  }

  @Test("An added user can log in, with registration closed; a taken address is refused")
  func add() async throws {
    try await ServerFixture.run({ $0.accounts.registration = .closed }) { users in
      let body: JSON = ["email": "Bob@example.com", "password": .string(ServerFixture.password)]
      let added = try await users.command(.post, Self.users, body)
      let bob = try await users.logIn("bob").get("/v1/me").json
      #expect(bob["email"] == "Bob@example.com" && bob["id"] == added["id"])
      let refusal = await #expect(throws: AdministrationRefusal.self) {
        try await users.command(.post, Self.users, body)
      }
      #expect(refusal?.status == 409)
      #expect(try await users.count("users") == 1)
    }
  }

  @Test("A password that the rules refuse is refused with the reasons")
  func passwordRules() async throws {
    try await ServerFixture.run({ $0.accounts.passwordRules.minimumCharacters = 12 }) { users in
      let body: JSON = ["email": "ada@example.com", "password": "short"]
      let refusal = await #expect(throws: AdministrationRefusal.self) {
        try await users.command(.post, Self.users, body)
      }
      #expect(refusal?.status == 422 && refusal?.description == "The password is shorter than 12 characters.")
    }
  }

  @Test("A higher minimum length applies to new passwords only, and a shorter one still logs in")
  func shortPassword() async throws {
    try await ServerFixture.run({ $0.accounts.passwordRules.minimumCharacters = 4 }) { users in
      try await users.command(.post, Self.users, ["email": "ada@example.com", "password": "short"])
      try await users.restart { $0.accounts.passwordRules.minimumCharacters = 64 }
      #expect(try await users.post("/v1/sessions", #"{"email":"ada@example.com","password":"short"}"#).status == 201)
      #expect(try await users.post("/v1/users", #"{"email":"bob@example.com","password":"short"}"#).status != 201)
    }
  }

  @Test("An erased user is removed from memory, tables and file, also from the admin command")
  func erase() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp("ada-zq")
      try await ada.addFavorites("favorite-zq")
      try await users.command(.delete, "\(Self.users)/\(ada.user)")
      #expect(try await ada.get("/v1/favorites").status == 401)
      #expect(try await users.rows("SELECT 1 FROM users UNION ALL SELECT 1 FROM journal").isEmpty)
      let refusal = await #expect(throws: AdministrationRefusal.self) {
        try await users.command(.patch, "\(Self.users)/\(ada.user)", ["disabled": true])
      }
      #expect(refusal?.status == 404)
      await users.stop()
      #expect(try await !users.storedText().contains("-zq"))
    }
  }
}

@Suite(
  "Admin commands, without a server or with one that does nothing",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct UnservedAdminCommandTests {
  private static let users = "/v1/admin/users"
  private let fixture: SyncFixture

  init() throws {
    fixture = try SyncFixture()
  }

  private var configuration: Configuration {
    var configuration = Configuration()
    configuration.data = fixture.files.path
    configuration.passwordStrength = Argon2Strength(memoryKiB: 8, passes: 1)
    return configuration
  }

  private var socket: String {
    get throws { try #require(StorePath.socket(of: fixture.files.path)) }
  }

  /// Sends a request as a command does. Returns what it throws.
  private func send(
    _ method: Method,
    _ target: String,
    _ body: JSON? = nil,
    by interruption: (any Interruption)? = nil,
    with configuration: Configuration? = nil,
    pause: @escaping @Sendable (Duration) -> Void = { _ in usleep(1000) }
  ) async throws -> JSON {
    let (configuration, time) = (configuration ?? self.configuration, fixture.clock.time)
    return try await valueAside {
      try AdministrationChannel(configuration, time: time, interruption: interruption, pause: pause)
        .send(method, target, body)
    }
  }

  private func rows(_ sql: String) throws -> [[String]] { try StoreFile.rows(sql, in: fixture.files.path) }

  @Test("Without a server the command does the work itself")
  func alone() async throws {
    let user = try await fixture.user(1).user
    fixture.store.close()
    let target = "\(Self.users)/\(user)"
    _ = try await send(.patch, target, ["disabled": true])
    #expect(try rows("SELECT disabled_at FROM users") == [["1000000"]])
    _ = try await send(.patch, target, ["disabled": false])
    var short = configuration
    short.accounts.passwordRules.minimumCharacters = 3
    _ = try await send(.patch, target, ["password": "new"], with: short)
    #expect(try rows("SELECT shortest_password FROM store") == [["3"]])
    #expect(try rows("SELECT disabled_at, password_version FROM users") == [["NULL", "2"]])
    let bob: JSON = ["email": "bob@example.com", "password": "correct horse"]
    _ = try await send(.post, Self.users, bob)
    var refusal = await #expect(throws: AdministrationRefusal.self) { try await send(.post, Self.users, bob) }
    #expect(refusal?.status == 409)
    _ = try await send(.delete, target)
    refusal = await #expect(throws: AdministrationRefusal.self) { try await send(.delete, target) }
    #expect(refusal?.status == 404)
    #expect(try rows("SELECT email, disabled_at FROM users") == [["bob@example.com", "NULL"]])
  }

  @Test("A command that no server takes in time is withdrawn, and nothing was changed")
  func notTaken() async throws {
    let user = try await fixture.user(1).user
    let clock = fixture.clock
    // The store has its lock, and no socket.
    await #expect(throws: MaintenanceError.notTaken(path: fixture.files.path)) {
      try await send(.patch, "\(Self.users)/\(user)", ["disabled": true]) { _ in
        clock.advance(by: .seconds(8))
      }
    }
    #expect(clock.time.elapsed() >= AdministrationChannel.patience)
    #expect(try rows("SELECT disabled_at FROM users") == [["NULL"]])
  }

  /// Calls a function at each look, and is interrupted from a look on that the function chooses. Records `hold()`
  /// and `release()`.
  private final class Looks: Interruption {
    private let held = Atomic(false)
    private let look: @Sendable () -> Bool
    var isHeld: Bool { held.load(ordering: .relaxed) }

    init(_ look: @escaping @Sendable () -> Bool) { self.look = look }

    func hold() { held.store(true, ordering: .relaxed) }
    func release() { held.store(false, ordering: .relaxed) }
    var isInterrupted: Bool {
      #expect(isHeld)
      return look()
    }
  }

  @Test("A command to a server that hangs times out, or is withdrawn by an interruption, which releases the signals")
  func hangingServer() async throws {
    let user = try await fixture.user(1).user
    let clock = fixture.clock
    let hanging = try ListeningSocket(path: try socket)
    defer { hanging.close() }
    let waiting = Looks {
      clock.advance(by: .seconds(1))
      return false
    }
    await #expect(throws: MaintenanceError.notTaken(path: fixture.files.path)) {
      try await send(.delete, "\(Self.users)/\(user)", by: waiting)
    }
    let interrupted = Looks { true }
    await #expect(throws: AdministrationInterruptedError.withdrawn) {
      try await send(.delete, "\(Self.users)/\(user)", by: interrupted)
    }
    #expect(!waiting.isHeld && !interrupted.isHeld)
    #expect(try rows("SELECT count(*) FROM users") == [["1"]])
  }

  @Test("A command that is interrupted when the server has it says so")
  func tooLate() async throws {
    let user = try await fixture.user(1).user
    let server = try OneRequestServer(at: try socket)
    let hasRequest = LockedState(false)
    async let serving: Void = aside {
      let connection = server.receive().connection
      hasRequest.withLock { $0 = true }
      server.end(connection)
    }
    let interruption = Looks { hasRequest.withLock { $0 } }
    // The server ends the connection at the same time. Then the command waits for the next one.
    await #expect(throws: AdministrationInterruptedError.begun) {
      try await send(.delete, "\(Self.users)/\(user)", by: interruption)
    }
    await serving
  }

  @Test("If the server ends after it has made a change, the command repeats it with its key, and it is made once")
  func lostResponse() async throws {
    _ = try await fixture.user(1)
    fixture.store.close()
    let server = try OneRequestServer(at: try socket)
    let (configuration, time) = (configuration, fixture.clock.time)
    async let added = send(.post, Self.users, ["email": "bob@example.com", "password": "correct horse"])
    let made = try await valueAside {
      let (bytes, connection) = server.receive()
      let store = try OpenedStore(configuration, modules: [], screens: [], time: time, logger: .silent)
      let response = try store.response(to: bytes)
      store.close()
      server.end(connection)
      return response
    }
    #expect(made.status == 201)
    let reply = try await added
    #expect(reply["id"] == made.json["id"])
    #expect(try rows("SELECT count(*) FROM users WHERE email = 'bob@example.com'") == [["1"]])
  }

  @Test("If the server ends before it has made the change, the command makes it itself")
  func endedBefore() async throws {
    let user = try await fixture.user(1).user
    let store = fixture.store
    let server = try OneRequestServer(at: try socket)
    async let disabled = send(.patch, "\(Self.users)/\(user)", ["disabled": true])
    await aside {
      let connection = server.receive().connection
      store.close()
      server.end(connection)
    }
    let reply = try await disabled
    #expect(reply["disabled"] == true)
    #expect(try rows("SELECT count(*) FROM users WHERE disabled_at IS NOT NULL") == [["1"]])
  }

  private var reader: AccountReader {
    get throws { try AccountReader(of: .file(fixture.files.path), time: fixture.clock.time) }
  }

  @Test("A store that an older server serves is refused before anything is written")
  func older() async throws {
    fixture.store.close()
    let server = try fixture.files.store()
    let known = Migration.all.count
    try await server.writer.write { connection in
      try connection.execute("PRAGMA user_version = \(known - 1); DELETE FROM migrations WHERE number = \(known)")
    }
    await #expect(throws: MaintenanceError.olderSchema(path: fixture.files.path, found: known - 1, known: known)) {
      try await send(.delete, "\(Self.users)/\(SyncFixture.session(1).user)")
    }
    server.close()
  }

  @Test("Users are found by their address in any case, or by their id")
  func names() async throws {
    let session = try await fixture.user(1)
    let reader = try reader
    for name in ["1@example.com", "1@EXAMPLE.com", "\(session.user)"] {
      #expect(try reader.user(name).id == session.user)
    }
    for name in ["2@example.com", "unknown", "\(SyncFixture.session(2).user)"] {
      #expect(throws: MaintenanceError.noSuchUser(name)) { try reader.user(name) }
    }
    var nowhere = configuration
    nowhere.data = "/nowhere/x"
    #expect(throws: MaintenanceError.missing(path: "/nowhere/x")) {
      try AccountReader(of: .file("/nowhere/x")).user("1@example.com")
    }
    await #expect(throws: MaintenanceError.missing(path: "/nowhere/x")) {
      try await send(.delete, "\(Self.users)/\(session.user)", with: nowhere)
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
      try reader.store.read {
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

/// A server that gets one request, and then ends.
private final class OneRequestServer: Sendable {
  private let listener: LockedState<ListeningSocket?>

  init(at path: String) throws(SystemError) {
    listener = LockedState(try ListeningSocket(path: path))
  }

  deinit { listener.withLock { $0?.close() } }

  /// Responds to the probe of a command, and then receives its request. Blocks.
  func receive() -> (request: [UInt8], connection: Int32) {
    let probe = accepted()
    _ = read(from: probe)
    let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".utf8)
    _ = response.withUnsafeBytes { send(probe, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    close(probe)
    let connection = accepted()
    return (read(from: connection), connection)
  }

  /// Ends without a response.
  func end(_ connection: Int32) {
    listener.withLock { listener in
      listener?.close()
      listener = nil
    }
    close(connection)
  }

  private func accepted() -> Int32 {
    let descriptor = listener.withLock { $0?.descriptor ?? -1 }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, -1)
    return accept(descriptor, nil, nil)
  }

  /// A request that arrives as a whole.
  private func read(from connection: Int32) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    return Array(buffer[..<max(0, recv(connection, &buffer, buffer.count, 0))])
  }
}
