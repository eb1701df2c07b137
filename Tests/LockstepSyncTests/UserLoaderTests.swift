import LockstepHTTP
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Users who are loaded in batches", .timeLimit(.minutes(10)))
struct UserLoaderTests {
  /// Counts how often it is woken.
  private final class CountingWaker: Waker {
    let count = LockedState(0)

    func wake() { count.withLock { $0 += 1 } }
    func join(_ batch: inout WakeBatch) { wake() }
  }

  /// A request that waits, and the sessions that it got.
  private struct Waiting {
    let token: SessionDirectory.UnknownToken
    let load: UserLoad
    let waker = CountingWaker()
    let found = LockedState<[LiveSession?]>([])

    init(_ token: SessionDirectory.UnknownToken) {
      self.token = token
      load = UserLoad { [found] session in
        found.withLock { $0.append(session) }
        return .response(Response(status: .ok))
      }
    }

    /// The session that the request gets when it is woken.
    func session() async -> LiveSession? {
      load.park(waker)
      await eventually { waker.count.withLock { $0 } == 1 }
      _ = load.resume(.woken)
      return found.withLock { $0.last ?? nil }
    }
  }

  private let accounts: AccountsFixture
  private let readers: UserReaders
  private let cache: StateCache
  /// Called with each state that was read, on the reader thread.
  private let didRead = LockedState<@Sendable (UserID) throws -> Void>({ _ in })

  init() async throws {
    accounts = try await AccountsFixture()
    readers = UserReaders(accounts.store.readers, threads: 1)
    cache = StateCache(capacity: 1 << 20, readers: readers) { [didRead] user, _ in
      try didRead.withLock { $0 }(user)
      return UserState()
    }
  }

  private func request(of signedIn: SignedIn) throws -> Waiting {
    let lookup = accounts.directory.authenticate(Array(signedIn.token.text.utf8), at: accounts.now)
    guard case .unknown(let token) = lookup else { throw UnexpectedLookup() }
    return Waiting(token)
  }

  private func begin(_ request: Waiting, _ cache: StateCache? = nil) {
    let network = ClientNetwork(host: "192.0.2.1")
    request.load.begin(request.token, from: network, at: accounts.now, accounts.directory, cache ?? self.cache)
  }

  private struct UnexpectedLookup: Error {}

  /// Begins loads while the only reader thread is held.
  private func load(_ users: [SignedIn]) async throws -> [Waiting] {
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    async let held: Void = accounts.store.readers.read { _ in
      arrival.open()
      gate.pass()
    }
    await arrival.opened()
    let requests = try users.map { try request(of: $0) }
    for request in requests { begin(request) }
    #expect(accounts.store.readers.waiting == 1, "the loads are one batch")
    gate.open()
    try await held
    return requests
  }

  @Test("Sessions and states of many users are loaded in one batch, and each request gets its own")
  func batch() async throws {
    var users: [SignedIn] = []
    for number in 0..<100 { users.append(try await accounts.signUp("user\(number)@example.com")) }
    let requests = try await load(users)
    for (user, request) in zip(users, requests) {
      let session = try #require(await request.session())
      #expect(session.id == user.session.id && session.user == user.user.id)
      #expect(cache.state(of: user.user.id) != nil)
    }
    #expect(cache.loads == 100)
  }

  @Test("Requests with the same token share one load")
  func shared() async throws {
    let ann = try await accounts.signUp("ann@example.com")
    let requests = try await load(Array(repeating: ann, count: 3))
    for request in requests { _ = await request.session() }
    #expect(cache.loads == 1)
    #expect(try await accounts.live(ann)?.id == ann.session.id)
  }

  @Test("A session that is not in the store is not found, and then refused from memory")
  func deleted() async throws {
    let ann = try await accounts.signUp("ann@example.com")
    _ = try await accounts.store.writer.write { try $0.run("DELETE FROM sessions") }
    let requests = try await load([ann])
    #expect(await requests[0].session() == nil)
    #expect(throws: UnexpectedLookup.self) { try request(of: ann) }
    #expect(cache.loads == 0)
  }

  @Test("A session that ends while its user's state is loaded is not accepted")
  func ended() async throws {
    let ann = try await accounts.signUp("ann@example.com")
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    didRead.withLock {
      $0 = { _ in
        arrival.open()
        gate.pass()
      }
    }
    let request = try request(of: ann)
    begin(request)
    await arrival.opened()
    try await accounts.accounts.revoke(ann.session.id, of: ann.user.id)
    gate.open()
    #expect(await request.session() == nil)
    #expect(throws: UnexpectedLookup.self) { try self.request(of: ann) }
  }

  @Test("A state that was read before a commit is read again, even if the published state was evicted")
  func published() async throws {
    let ann = try await accounts.signUp("ann@example.com")
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let cache = StateCache(capacity: 0, readers: readers) { _, _ in
      arrival.open()
      gate.pass()
      return UserState()
    }
    let request = try request(of: ann)
    begin(request, cache)
    await arrival.opened()
    for user in [ann.user.id, SyncFixture.session(1).user, SyncFixture.session(2).user] {
      cache.publish(UserState(), of: user)
    }
    #expect(cache.state(of: ann.user.id) == nil)
    gate.open()
    #expect(await request.session()?.user == ann.user.id)
    #expect(cache.loads == 2)
  }

  @Test("If the state of one user cannot be read, the other users of the batch are loaded")
  func unreadable() async throws {
    var users: [SignedIn] = []
    for number in 0..<3 { users.append(try await accounts.signUp("user\(number)@example.com")) }
    let damaged = users[1].user.id
    didRead.withLock { $0 = { user in if user == damaged { throw UnexpectedLookup() } } }
    let requests = try await load(users)
    for (user, request) in zip(users, requests) { #expect(await request.session()?.user == user.user.id) }
    #expect(users.map { cache.state(of: $0.user.id) != nil } == [true, false, true])
  }

  @Test("If the store fails, requests are woken without a session, and the next load works")
  func failing() async throws {
    let (ann, ben) = (try await accounts.signUp("ann@example.com"), try await accounts.signUp("ben@example.com"))
    try await accounts.store.writer.write { try $0.execute("ALTER TABLE sessions RENAME TO elsewhere") }
    for request in try await load([ann, ben]) { #expect(await request.session() == nil) }
    try await accounts.store.writer.write { try $0.execute("ALTER TABLE elsewhere RENAME TO sessions") }
    for request in try await load([ann, ben]) { #expect(await request.session() != nil) }
    #expect(try await accounts.live(ben)?.id == ben.session.id)
  }

  @Test("Loads after a shutdown are woken without a session")
  func shutDown() async throws {
    let request = try request(of: try await accounts.signUp("ann@example.com"))
    accounts.store.readers.shutDown()
    begin(request)
    #expect(await request.session() == nil)
  }
}
