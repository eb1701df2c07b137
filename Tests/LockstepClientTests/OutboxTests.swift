import Foundation
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// The outcome of a write, for a test in virtual time.
final class Recorded<Value: Sendable>: Sendable {
  private let contents = Mutex(Value?.none)
  var value: Value? { contents.withLock { $0 } }
  func set(_ value: Value) { contents.withLock { $0 = value } }
}

/// Responds to each request as a test says.
private struct AnsweringTransport: ClientTransport {
  let answer: @Sendable (ClientRequest) -> ClientResponse

  func response(to request: ClientRequest) async throws -> ClientResponse { answer(request) }
}

@Suite("Writes of a client", .timeLimit(.minutes(10)))
struct OutboxTests {
  @Test("A refused write is taken back, and the app learns why")
  func refusal() throws {
    let fixture = try ClientFixture()
    let failure = Recorded<ClientFailure>()
    fixture.clock.start { [photos = fixture.photos] in
      do { _ = try await photos.move("missing", to: 0).confirmed } catch {
        failure.set(error as? ClientFailure ?? ClientFailure("\(error)"))
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(failure.value?.status == 404)
    let refused = fixture.client.refusedWrites
    #expect(refused.map(\.failure.status) == [404] && refused[0].actions[0]["type"] == "move")
    #expect(fixture.client.status.pending == 0)
    // Now the same write succeeds.
    fixture.server.perform(["module": "favorites", "type": "add", "payload": ["id": "missing"]])
    fixture.clock.start { [client = fixture.client] in _ = try? await client.retry(refused[0]) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.refusedWrites.isEmpty && fixture.ids == ["missing"])
  }

  @Test("If a refused write cannot be made again, because the file cannot be written, it stays")
  func retryWithFullDisk() throws {
    let (folder, clock) = (try TemporaryDirectory(), VirtualClock())
    let (file, server) = (folder.file("client.db"), FakeServer(clock: clock))
    let credentials = MemoryCredentials("token")
    let client = try LockstepClient(store: .file(file), transport: server, credentials: credentials, clock: clock)
    let running = clock.start { await client.run() }
    clock.start { [photos = client.list(of: Photo.self)] in _ = try? await photos.move("missing", to: 0) }
    clock.advance(by: .milliseconds(20))
    let refused = client.refusedWrites
    #expect(refused.count == 1)
    let other = try SQLiteConnection(path: file)
    try other.execute("CREATE TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'full'); END")
    let error = Recorded<String>()
    clock.start {
      do { _ = try await client.retry(refused[0]) } catch let failure { error.set("\(failure)") }
    }
    clock.advance(by: .milliseconds(20))
    #expect(error.value?.contains("full") == true && client.refusedWrites == refused)
    try other.execute("DROP TRIGGER full")
    server.perform(["module": "favorites", "type": "add", "payload": ["id": "missing"]])
    clock.start { _ = try? await client.retry(refused[0]) }
    clock.advance(by: .seconds(60))
    #expect(client.refusedWrites.isEmpty && client.status.pending == 0)
    running.cancel()
    clock.advance(by: .milliseconds(20))
  }

  @Test("If the file cannot be written, a logout ends the session, and the next one deletes the copy")
  func logoutWithFullDisk() throws {
    let (folder, clock) = (try TemporaryDirectory(), VirtualClock())
    let (file, server) = (folder.file("client.db"), FakeServer(clock: clock))
    let credentials = MemoryCredentials("token")
    let client = try LockstepClient(store: .file(file), transport: server, credentials: credentials, clock: clock)
    let photos = client.list(of: Photo.self)
    server.perform(["module": "favorites", "type": "add", "payload": ["id": "a"]])
    let running = clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    let other = try SQLiteConnection(path: file)
    try other.execute("CREATE TRIGGER full BEFORE UPDATE ON client BEGIN SELECT RAISE(ABORT, 'full'); END")
    let error = Recorded<String>()
    clock.start {
      do { try await client.logOut() } catch let failure { error.set("\(failure)") }
    }
    clock.advance(by: .milliseconds(20))
    #expect(error.value?.contains("full") == true && credentials.token() == nil)
    #expect(server.requests.count { $0.method == "DELETE" && $0.target == "/v1/sessions/current" } == 1)
    #expect(photos.elements.map(\.id) == ["a"])
    try other.execute("DROP TRIGGER full")
    clock.start { try? await client.logOut() }
    clock.advance(by: .milliseconds(20))
    #expect(photos.elements.isEmpty)
    running.cancel()
    clock.advance(by: .milliseconds(20))
  }

  @Test("Refused writes are a sequence: the present ones at once, then each change")
  func refusals() throws {
    let fixture = try ClientFixture()
    let counts = Mutex<[Int]>([])
    let reading = fixture.clock.start { [client = fixture.client] in
      for await writes in client.refusals { counts.withLock { $0.append(writes.count) } }
    }
    fixture.clock.advance(by: .milliseconds(20))
    for id in ["a", "b"] {
      fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.move(id, to: 0) }
      fixture.clock.advance(by: .milliseconds(20))
    }
    // A change of anything else is no element of the sequence.
    fixture.add("c")
    let refused = fixture.client.refusedWrites
    fixture.clock.start { [client = fixture.client] in try? await client.dismiss(refused[0]) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(counts.withLock { $0 } == [0, 1, 2, 1])
    #expect(refused.map(\.failure.title) == ["This could not be found", "This could not be found"])
    reading.cancel()
  }

  @Test("A write that was not sent can be cancelled")
  func cancelling() throws {
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    let cancelled = Recorded<[Bool]>()
    fixture.clock.start { [client = fixture.client, photos = fixture.photos] in
      guard let write = try? await photos.add(Photo(id: "a")) else { return }
      cancelled.set([(try? await client.cancel(write)) ?? false, (try? await client.cancel(write)) ?? false])
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(cancelled.value == [true, false] && fixture.ids.isEmpty)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.server.json(of: "favorites") == .null)
  }

  @Test("A transaction is applied as a whole, or not at all")
  func transaction() throws {
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [client = fixture.client, photos = fixture.photos, settings = fixture.settings] in
      _ = try? await client.perform { transaction in
        try transaction.add(Photo(id: "a"), in: photos)
        try transaction.set("theme", "dark", in: settings)
      }
      _ = try? await client.perform { transaction in
        try transaction.set("theme", "light", in: settings)
        transaction.remove("missing", in: photos)
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.ids == ["a"] && fixture.settings.value("theme", as: String.self) == "dark")
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.server.json(of: "defaults/standard") == ["theme": "dark"])
    #expect(fixture.settings.value("theme", as: String.self) == "dark")
    #expect(fixture.client.refusedWrites.count == 1)
  }

  @Test("The copy and the writes of a file are the same in the next run")
  func restart() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("client.db").path
    let server = FakeServer(clock: VirtualClock())
    func open(_ body: (VirtualClock, LockstepClient, SyncedList<Photo>) throws -> Void) throws {
      let clock = VirtualClock()
      let client = try LockstepClient(
        store: .file(file),
        transport: server,
        credentials: MemoryCredentials("token"),
        clock: clock
      )
      let photos = client.list(of: Photo.self)
      let running = clock.start { await client.run() }
      clock.advance(by: .milliseconds(20))
      try body(clock, client, photos)
      running.cancel()
      clock.advance(by: .milliseconds(20))
    }
    server.perform(["module": "favorites", "type": "add", "payload": ["id": "a", "title": "Aurora"]])
    try open { _, _, photos in #expect(photos.elements.map(\.title) == ["Aurora"]) }
    server.goOffline()
    try open { clock, client, photos in
      #expect(client.status.isReady && photos.elements.map(\.id) == ["a"])
      clock.start { _ = try? await photos.add(Photo(id: "b"), at: 0) }
      clock.advance(by: .milliseconds(20))
      #expect(client.status.pending == 1)
    }
    server.goOnline()
    try open { clock, client, photos in
      #expect(photos.elements.map(\.id) == ["b", "a"])
      clock.advance(by: .seconds(60))
      #expect(client.status.pending == 0)
    }
    #expect(server.json(of: "favorites").arrayValue?.compactMap { $0["id"]?.stringValue } == ["b", "a"])
    #expect(server.requests.count { $0.method == "POST" } == 1)
  }

  @Test("After a restore that lost a confirmed write, the client shows the server's state and goes on")
  func restoredBackup() throws {
    let fixture = try ClientFixture()
    fixture.add("a")
    fixture.add("b")
    #expect(fixture.ids == ["a", "b"])
    fixture.server.restoreOldBackup(without: 1)
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.ids == ["a"])
    fixture.add("c")
    #expect(fixture.ids == ["a", "c"] && fixture.client.status.pending == 0)
  }

  @Test("Another user gets neither the copy nor the writes of the previous user")
  func otherUser() throws {
    let fixture = try ClientFixture(token: nil)
    #expect(fixture.client.status.connection == .needsLogin)
    func logIn(_ email: String) {
      fixture.clock.start { [client = fixture.client] in try? await client.logIn(email: email, password: "secret") }
      fixture.clock.advance(by: .milliseconds(20))
    }
    logIn("ada@example.com")
    #expect(fixture.client.status.connection == .live)
    fixture.add("a")
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    fixture.add("unsent")
    #expect(fixture.ids == ["a", "unsent"])
    fixture.clock.start { [client = fixture.client] in try? await client.logOut(keepsCopy: true) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.ids == ["a", "unsent"] && fixture.client.status.connection == .needsLogin)
    fixture.server.goOnline()
    logIn("bob@example.com")
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.ids == ["a"] && fixture.client.status.pending == 0, "the fake server has one state for all users")
    #expect(fixture.server.requests.count { $0.method == "POST" && $0.target == "/v1/actions" } == 1)
  }

  @Test("A write is never sent with the token of another user")
  func otherToken() async throws {
    let credentials = MemoryCredentials("token of ada@example.com")
    let (clock, server) = (VirtualClock(), FakeServer(clock: VirtualClock()))
    let client = try LockstepClient(store: .memory, transport: server, credentials: credentials, clock: clock)
    let photos = client.list(of: Photo.self)
    clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    server.goOffline()
    clock.advance(by: .milliseconds(20))
    clock.start { _ = try? await photos.add(Photo(id: "ada's")) }
    clock.advance(by: .milliseconds(20))
    #expect(client.status.pending == 1)
    // The app has another token now, and the client was not told.
    credentials.save("token of bob@example.com")
    server.goOnline()
    clock.advance(by: .seconds(120))
    #expect(client.status.connection == .live && client.status.pending == 0)
    #expect(photos.elements.isEmpty && server.json(of: "favorites") == .null)
    // The same while the connection is live.
    credentials.save("token of eve@example.com")
    clock.start { _ = try? await photos.add(Photo(id: "bob's")) }
    clock.advance(by: .seconds(120))
    #expect(client.status.connection == .live && client.status.pending == 0 && photos.elements.isEmpty)
    #expect(!server.requests.contains { $0.method == "POST" })
  }

  @Test("If the file cannot be written, the copy goes on later without a gap")
  func fullDisk() throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("client.db")
    let server = FakeServer(clock: VirtualClock())
    func perform(_ module: String, _ type: String, _ payload: JSON) {
      server.perform(["module": .string(module), "type": .string(type), "payload": payload])
    }
    func open(_ body: (VirtualClock, LockstepClient, SyncedList<Photo>) throws -> Void) throws {
      let clock = VirtualClock()
      let credentials = MemoryCredentials("token")
      let client = try LockstepClient(store: .file(file), transport: server, credentials: credentials, clock: clock)
      let photos = client.list(of: Photo.self)
      let running = clock.start { await client.run() }
      clock.advance(by: .milliseconds(20))
      try body(clock, client, photos)
      running.cancel()
      clock.advance(by: .milliseconds(20))
    }
    try open { clock, client, photos in
      let other = try SQLiteConnection(path: file)
      try other.execute("CREATE TRIGGER full BEFORE UPDATE ON client BEGIN SELECT RAISE(ABORT, 'full'); END")
      perform("favorites", "add", ["id": "a"])
      clock.advance(by: .milliseconds(20))
      #expect(client.status.storeFailure != nil && photos.elements.isEmpty)
      try other.execute("DROP TRIGGER full")
      perform("defaults", "set", ["key": "theme", "value": "dark"])
      clock.advance(by: .seconds(120))
      #expect(client.status.storeFailure == nil && photos.elements.map(\.id) == ["a"])
    }
    server.goOffline()
    try open { _, client, photos in
      #expect(photos.elements.map(\.id) == ["a"])
      #expect(client.defaults().value("theme", as: String.self) == "dark")
    }
  }

  @Test("A long outbox is sent in order, and shown as the server has it")
  func longOutbox() throws {
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [photos = fixture.photos, settings = fixture.settings] in
      for number in 0..<1_500 {
        _ = try? await photos.add(Photo(id: "\(number)"), at: 0)
        if number % 10 == 0 { _ = try? await settings.increment("count") }
        // The server refuses this one.
        if number % 100 == 0 { _ = try? await photos.move("missing \(number)", to: 0) }
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.status.pending == 1_665 && fixture.photos.elements.count == 1_500)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.status.pending == 0 && fixture.client.refusedWrites.count == 15)
    let ids = (0..<1_500).reversed().map { "\($0)" }
    #expect(fixture.server.json(of: "favorites").arrayValue?.compactMap { $0["id"]?.stringValue } == ids)
    #expect(fixture.ids == ids && fixture.settings.value("count", as: Int.self) == 150)
  }

  @Test("A client that is run twice follows once")
  func runTwice() throws {
    let fixture = try ClientFixture()
    let before = fixture.server.requests.count
    fixture.clock.start { [client = fixture.client] in await client.run() }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.server.requests.count == before && fixture.client.status.connection == .live)
  }

  @Test("No response ends the process")
  func hostileResponses() throws {
    let huge = "9223372036854775807"
    let documents = [
      #"{"cursor":"c","revision":\#(huge),"reset":true,"changesets":[],"keys":[]}"#,
      #"{"cursor":"c","revision":-1,"reset":true,"changesets":[],"keys":[]}"#,
      #"{"cursor":"c","revision":1,"reset":true,"changesets":[{"collection":"favorites","items":[{}]}],"keys":[1]}"#,
      #"{"cursor":"c","revision":1,"changesets":[{"collection":"","kind":"list","moves":[{"to":-5,"id":"x"}]}]}"#,
      #"{"cursor":"c","revision":1,"changesets":[{"collection":"favorites","kind":"list","insertions":[{"index":\#(huge),"item":{"id":"x"}}]}]}"#,
      "", "[", "null", #"{"id":7}"#,
    ]
    for document in documents {
      for status in [200, 204, 301, 400, 401, 409, 412, 429, 500, 507, 999] {
        let (clock, response) = (
          VirtualClock(),
          ClientResponse(
            status: status,
            fields: ["Retry-After": huge, "Revision": huge],
            body: Array(document.utf8)
          )
        )
        let transport = AnsweringTransport { request in
          request.target == "/v1/me" ? ClientResponse(status: 200, body: Array(#"{"id":"ada"}"#.utf8)) : response
        }
        let credentials = MemoryCredentials("token")
        let client = try LockstepClient(store: .memory, transport: transport, credentials: credentials, clock: clock)
        let photos = client.list(of: Photo.self)
        let running = clock.start { await client.run() }
        clock.start { _ = try? await photos.add(Photo(id: "a"), at: .max) }
        for _ in 0..<3 { clock.advance(by: .milliseconds(100)) }
        running.cancel()
        clock.advance(by: .milliseconds(20))
        #expect(client.status.connection == .stopped)
      }
    }
  }

  @Test("When the session ends, writes are kept")
  func endedSession() throws {
    let fixture = try ClientFixture()
    fixture.server.revokeSession("token")
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.status.connection == .needsLogin)
    fixture.add("a")
    fixture.clock.advance(by: .seconds(600))
    #expect(fixture.ids == ["a"] && fixture.client.status.pending == 1)
  }
}
