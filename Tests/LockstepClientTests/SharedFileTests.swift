import Glibc
import LockstepClientTesting
import LockstepJSON
import LockstepTime
import LockstepReactor
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// Wakes the clients of one file within a test.
final class TestNeighbors: Sendable {
  private let continuations = Mutex<[AsyncStream<Void>.Continuation]>([])

  var neighbors: StoreNeighbors {
    StoreNeighbors(
      notify: { [self] in continuations.withLock { for each in $0 { each.yield() } } },
      changes: { [self] in
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
          continuation.yield()
          continuations.withLock { $0.append(continuation) }
        }
      }
    )
  }
}

extension LockstepClient {
  /// A client of a file that others use too, as in another process.
  convenience init(
    sharing file: String,
    with neighbors: TestNeighbors,
    seed: UInt64,
    _ server: FakeServer,
    _ credentials: MemoryCredentials,
    _ clock: VirtualClock,
    following: Following = .polls
  ) throws {
    let numbers = Mutex(SeededNumbers(seed: seed))
    let random: @Sendable () -> UInt64 = { numbers.withLock { $0.next() } }
    try self.init(
      store: ClientStore(path: file),
      modules: [],
      following: nil,
      SyncEngine.Environment(
        transport: server,
        following: following,
        credentials: credentials,
        clock: clock,
        now: WallTime.of(clock),
        random: { Double(random() >> 11) / Double(1 << 53) },
        newKey: { String(random(), radix: 36) },
        neighbors: neighbors.neighbors
      )
    )
  }
}

/// Two clients of one file, as of an app and its extension.
private struct SharedFile {
  let path: String
  let clock = VirtualClock()
  let server: FakeServer
  let credentials: MemoryCredentials
  let neighbors = TestNeighbors()
  let (app, helper): (LockstepClient, LockstepClient)

  init(in folder: TemporaryDirectory, token: String? = "token") throws {
    path = folder.file("client.db")
    server = FakeServer(clock: clock)
    credentials = MemoryCredentials(token)
    app = try LockstepClient(sharing: path, with: neighbors, seed: 1, server, credentials, clock)
    helper = try LockstepClient(sharing: path, with: neighbors, seed: 2, server, credentials, clock)
  }

  @discardableResult
  func start(_ body: @escaping @Sendable () async throws -> Void) -> Task<Void, Never> {
    let task = clock.start { try? await body() }
    clock.advance(by: .milliseconds(20))
    return task
  }

  /// Another process follows the server.
  func lead(as process: String) throws {
    let now = WallTime.of(clock)()
    let end = Timestamp(millisecondsSince1970: now.millisecondsSince1970 + 60_000)
    #expect(try ClientStore(path: path).lead(as: process, from: now, until: end) == nil)
  }

  func favorites() -> [String] { (server.json(of: "favorites").arrayValue ?? []).compactMap { $0["id"]?.stringValue } }
}

@Suite("Several processes on one file", .timeLimit(.minutes(10)))
struct SharedFileTests {
  /// Of one test. The clients of a test run on after it, and must not keep the folder.
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("One process follows the server, and sends and confirms the writes of both")
  func oneFollows() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    shared.start { await shared.helper.run() }
    #expect(shared.app.status.connection == .live && shared.helper.status.connection == .live)
    let polls = shared.server.requests.count { $0.target.hasPrefix("/v1/changes") }
    let photos = shared.helper.list(of: Photo.self)
    let result = Recorded<WriteResult>()
    shared.start { result.set(try await photos.add(Photo(id: "a")).confirmed) }
    #expect(result.value?.results.count == 1 && shared.favorites() == ["a"])
    #expect(shared.app.list(of: Photo.self).elements.map(\.id) == ["a"])
    let refusal = Recorded<Int?>()
    shared.start {
      do { _ = try await photos.move("missing", to: 0).confirmed } catch let failure as ClientFailure {
        refusal.set(failure.status)
      }
    }
    #expect(refusal.value == 404 && shared.app.refusedWrites.count == 1 && shared.helper.refusedWrites.count == 1)
    shared.server.perform(["module": "favorites", "type": "add", "payload": ["id": "b"]])
    shared.clock.advance(by: .milliseconds(20))
    #expect(photos.elements.map(\.id) == ["a", "b"])
    // The polls of one client: two for its own writes, one for that of another device.
    #expect(shared.server.requests.count { $0.target.hasPrefix("/v1/changes") } <= polls + 5)
  }

  @Test("When the following process ends, another one takes over at once")
  func takingOver() throws {
    let shared = try SharedFile(in: folder)
    let running = shared.start { await shared.app.run() }
    shared.start { await shared.helper.run() }
    running.cancel()
    shared.clock.advance(by: .milliseconds(20))
    shared.start { _ = try await shared.helper.list(of: Photo.self).add(Photo(id: "a")) }
    #expect(shared.favorites() == ["a"] && shared.helper.status.connection == .live)
    #expect(shared.app.status.connection == .stopped)
  }

  @Test("When the following process has no time to run any more, another one takes over within a minute")
  func suspendedProcess() throws {
    let shared = try SharedFile(in: folder)
    try shared.lead(as: "suspended")
    shared.start { await shared.helper.run() }
    shared.start { _ = try await shared.helper.list(of: Photo.self).add(Photo(id: "a")) }
    #expect(shared.favorites().isEmpty)
    shared.clock.advance(by: .seconds(61))
    #expect(shared.favorites() == ["a"] && shared.helper.status.pending == 0)
  }

  @Test("When the following process was killed, its next run follows at once")
  func nextRun() throws {
    let shared = try SharedFile(in: folder)
    let killed = try ChildProcess.spawn(["/bin/sh", "-c", "exit"], [])
    #expect(waitpid(killed, nil, 0) == killed)
    // In a container, the next run of a program often gets the same process id.
    for process in [killed, getpid()] {
      try shared.lead(as: "\(process)-killed")
      let running = shared.start { await shared.app.run() }
      #expect(shared.app.status.connection == .live)
      running.cancel()
      shared.clock.advance(by: .milliseconds(20))
    }
  }

  @Test("A client counts as running as long as one of its process has its name")
  func equalNames() {
    let first = ProcessName(key: "equal")
    do { _ = ProcessName(key: "equal") }
    #expect(withExtendedLifetime(first) { ProcessName.mayRun(first.text) })
    let text = ProcessName(key: "ended").text
    #expect(!ProcessName.mayRun(text))
  }

  @Test("When the following process is killed, another one takes over soon")
  func killedProcess() throws {
    let shared = try SharedFile(in: folder)
    let following = try ChildProcess.spawn(["/bin/sh", "-c", "exec sleep 600"], ["PATH=/usr/bin:/bin"])
    try shared.lead(as: "\(following)-app")
    shared.start { await shared.helper.run() }
    shared.clock.advance(by: .seconds(20))
    #expect(shared.helper.status.connection == .stopped)
    kill(following, SIGKILL)
    #expect(waitpid(following, nil, 0) == following)
    shared.clock.advance(by: .seconds(5))
    #expect(shared.helper.status.connection == .live)
  }

  @Test("A write that another process has cancelled is not sent")
  func cancelling() throws {
    let shared = try SharedFile(in: folder)
    shared.server.goOffline()
    shared.start { await shared.app.run() }
    let write = Recorded<PendingWrite>()
    shared.start { write.set(try await shared.helper.list(of: Photo.self).add(Photo(id: "a"))) }
    #expect(shared.app.status.pending == 1 && write.value != nil)
    let isCancelled = Recorded<Bool>()
    shared.start { if let write = write.value { isCancelled.set(try await shared.helper.cancel(write)) } }
    #expect(isCancelled.value == true)
    #expect(shared.app.status.pending == 0)
    shared.server.goOnline()
    shared.clock.advance(by: .seconds(60))
    #expect(shared.app.status.connection == .live && shared.favorites().isEmpty)
  }

  @Test("A logout in one process removes the copy and the writes of all")
  func loggingOut() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    shared.start { await shared.helper.run() }
    let (photos, failure) = (shared.app.list(of: Photo.self), Recorded<ClientFailure>())
    shared.server.goOffline()
    shared.start {
      do { _ = try await photos.add(Photo(id: "a")).confirmed } catch let error as ClientFailure { failure.set(error) }
    }
    #expect(photos.elements.count == 1)
    shared.start { try await shared.helper.logOut() }
    #expect(photos.elements.isEmpty && shared.app.status.pending == 0 && failure.value != nil)
    shared.server.goOnline()
    shared.clock.advance(by: .seconds(60))
    #expect(shared.favorites().isEmpty && shared.app.status.connection == .needsLogin)
  }

  @Test("Two processes that both believe to follow the server apply each write once")
  func twoLeaders() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    // A suspended process does not know that its lease has ended.
    let other = try SQLiteConnection(path: shared.path)
    try other.execute("UPDATE client SET leader = NULL, leader_until = NULL")
    shared.start { await shared.helper.run() }
    for number in 1...20 {
      for client in [shared.app, shared.helper] {
        shared.clock.start { _ = try? await client.defaults().increment("count") }
      }
      if number % 5 == 0 { shared.server.loseNextResponse() }
      shared.clock.advance(by: .milliseconds(number * 7))
    }
    shared.clock.advance(by: .seconds(300))
    #expect(shared.server.json(of: "defaults/standard") == ["count": 40])
    for client in [shared.app, shared.helper] {
      #expect(client.defaults().value("count", as: Int.self) == 40 && client.status.pending == 0)
    }
  }

  @Test("A process that was suspended, and has lost its lease, goes on as the other one shows")
  func suspended() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    let other = try SQLiteConnection(path: shared.path)
    try other.execute("UPDATE client SET leader = NULL, leader_until = NULL")
    let running = shared.start { await shared.helper.run() }
    shared.clock.advance(by: .seconds(30))
    shared.start { _ = try await shared.app.list(of: Photo.self).add(Photo(id: "a")) }
    #expect(shared.favorites() == ["a"] && shared.app.status.connection == .live && shared.app.status.pending == 0)
    running.cancel()
    shared.clock.advance(by: .milliseconds(20))
    shared.start { _ = try await shared.app.list(of: Photo.self).add(Photo(id: "b")) }
    #expect(shared.favorites() == ["a", "b"] && shared.app.status.connection == .live)
  }

  @Test("A login in one process is one for all")
  func loggingIn() throws {
    let shared = try SharedFile(in: folder, token: nil)
    shared.start { await shared.app.run() }
    shared.start { await shared.helper.run() }
    #expect(shared.app.status.connection == .needsLogin && shared.helper.status.connection == .needsLogin)
    for _ in 0..<2 {
      shared.start { try await shared.helper.logIn(email: "ada@example.com", password: "secret") }
      #expect(shared.app.status.connection == .live && shared.helper.status.connection == .live)
      shared.start { _ = try await shared.app.defaults().increment("count") }
      shared.server.revokeSession("token of ada@example.com")
      shared.clock.advance(by: .seconds(60))
      #expect(shared.app.status.connection == .needsLogin && shared.helper.status.connection == .needsLogin)
      shared.server.restoreSessions()
    }
    #expect(shared.server.json(of: "defaults/standard") == ["count": 2])
  }
}

@Suite("Users and clocks of several processes", .timeLimit(.minutes(10)))
struct SharedUserTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  @Test("A login of another user in a process that follows nothing deletes the state and the writes of the first")
  func staleLogin() throws {
    let shared = try SharedFile(in: folder, token: nil)
    // The helper is opened, and does not run. Then the app logs in, and writes.
    shared.start { await shared.app.run() }
    shared.start { try await shared.app.logIn(email: "ada@example.com", password: "secret") }
    shared.start { _ = try await shared.app.list(of: Photo.self).add(Photo(id: "ada's")) }
    shared.server.goOffline()
    shared.start { _ = try await shared.app.list(of: Photo.self).add(Photo(id: "ada's, not sent")) }
    #expect(shared.app.status.pending == 1)
    shared.server.goOnline()
    let photos = shared.helper.list(of: Photo.self)
    shared.start { try await shared.helper.logIn(email: "bob@example.com", password: "secret") }
    #expect(shared.helper.status.pending == 0)
    shared.clock.advance(by: .seconds(90))
    #expect(shared.favorites() == ["ada's"], "the fake server has one state for all users")
    #expect(photos.elements.isEmpty || photos.elements.map(\.id) == ["ada's"])
  }

  @Test("A logout in another process during the first download leaves nothing of the user")
  func logoutDuringDownload() throws {
    let shared = try SharedFile(in: folder)
    shared.server.perform(["module": "favorites", "type": "add", "payload": ["id": "ada's"]])
    shared.server.holdResponses()
    shared.start { await shared.app.run() }
    shared.start { try await shared.helper.logOut() }
    shared.server.releaseResponses()
    shared.clock.advance(by: .seconds(60))
    let store = try ClientStore(path: folder.file("client.db"))
    let contents = try store.read()
    #expect(contents.names.isEmpty && contents.owner.user == nil && contents.position == nil)
    #expect(shared.app.list(of: Photo.self).elements.isEmpty)
  }

  @Test("A write after a logout is refused until the next login")
  func writeAfterLogout() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    shared.start { try await shared.app.logOut() }
    let failures = Recorded<[String]>()
    for client in [shared.app, shared.helper] {
      shared.start {
        do { _ = try await client.defaults().set("theme", "dark") } catch {
          failures.set((failures.value ?? []) + ["\(error)"])
        }
      }
    }
    #expect(failures.value?.count == 2)
    shared.start { try await shared.app.logIn(email: "bob@example.com", password: "secret") }
    shared.start { _ = try await shared.helper.defaults().set("theme", "dark") }
    #expect(shared.server.json(of: "defaults/standard") == ["theme": "dark"])
  }

  @Test("The first login is no logout for the writes that were made before")
  func writeBeforeLogin() throws {
    let shared = try SharedFile(in: folder, token: nil)
    shared.start { await shared.app.run() }
    let result = Recorded<WriteResult>()
    shared.start { result.set(try await shared.helper.defaults().set("theme", "dark").confirmed) }
    shared.start { await shared.helper.run() }
    shared.start { try await shared.app.logIn(email: "ada@example.com", password: "secret") }
    shared.clock.advance(by: .seconds(10))
    #expect(result.value != nil && shared.helper.status.pending == 0)
  }

  @Test(
    "With many pending writes, a process that does not follow the server does not rebuild its view for each of them"
  )
  func longOutbox() throws {
    let shared = try SharedFile(in: folder)
    shared.start { await shared.app.run() }
    shared.start { await shared.helper.run() }
    shared.server.goOffline()
    let photos = shared.helper.list(of: Photo.self)
    shared.start {
      for number in 0..<520 { _ = try await shared.app.list(of: Photo.self).add(Photo(id: "\(number)")) }
    }
    shared.clock.advance(by: .seconds(5))
    #expect(photos.elements.count == 520 && shared.helper.status.pending == 520)
    let postponed = Recorded<Int>()
    shared.start { postponed.set(await shared.helper.engine.staleness.value) }
    #expect((1...).contains(postponed.value ?? 0))
    shared.server.goOnline()
    shared.clock.advance(by: .seconds(120))
    #expect(photos.elements.count == 520 && shared.helper.status.pending == 0)
  }

  @Test("A lease from before the clock was set back is over")
  func clockSetBack() throws {
    let shared = try SharedFile(in: folder)
    let other = try ClientStore(path: folder.file("client.db"))
    let tomorrow = WallTime.of(shared.clock)().millisecondsSince1970 + 86_400_000
    let (start, end) = (Timestamp(millisecondsSince1970: tomorrow), Timestamp(millisecondsSince1970: tomorrow + 60_000))
    #expect(try other.lead(as: "suspended", from: start, until: end) == nil)
    shared.start { await shared.helper.run() }
    #expect(shared.helper.status.connection == .live)
  }

  @Test("A process without a token leaves the server to one that has a token")
  func processWithoutToken() throws {
    let shared = try SharedFile(in: folder)
    let blind = try LockstepClient(
      sharing: folder.file("client.db"),
      with: shared.neighbors,
      seed: 3,
      shared.server,
      MemoryCredentials(),
      shared.clock
    )
    shared.start { await blind.run() }
    #expect(blind.status.connection == .needsLogin)
    shared.start { await shared.app.run() }
    shared.start { _ = try await shared.app.defaults().set("theme", "dark") }
    shared.clock.advance(by: .seconds(60))
    #expect(shared.server.json(of: "defaults/standard") == ["theme": "dark"])
    #expect(blind.status.connection == .live, "\(blind.status)")
    #expect(blind.defaults().value("theme", as: String.self) == "dark")
  }

  @Test("A new token of the app's own begins the connection again")
  func newToken() throws {
    let shared = try SharedFile(in: folder, token: nil)
    shared.start { await shared.app.run() }
    #expect(shared.app.status.connection == .needsLogin)
    shared.credentials.save("token")
    shared.clock.advance(by: .seconds(6))
    #expect(shared.app.status.connection == .live)
  }
}
