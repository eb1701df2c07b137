import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// A proxy in front of a server, which responds by itself while a test says so.
private final class Proxy: ClientTransport {
  private let server: FakeServer
  private let own = Mutex<ClientResponse?>(nil)

  init(_ server: FakeServer) { self.server = server }

  /// The response to all requests; nil: the server's.
  var response: ClientResponse? {
    get { own.withLock { $0 } }
    set { own.withLock { $0 = newValue } }
  }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    if let response { return response }
    return try await server.response(to: request)
  }
}

/// A response of a proxy, a gateway or a captive portal in front of a server.
enum ForeignPage: CaseIterable, Sendable {
  case html
  case json
  /// A problem document (RFC 9457) of a gateway.
  case problem
  /// A problem document of the server with another status.
  case otherStatus
  /// No body.
  case empty

  func response(_ status: Int) -> ClientResponse {
    switch self {
    case .html:
      ClientResponse(status: status, fields: ["Content-Type": "text/html"], body: Array("<html>Log in</html>".utf8))
    case .json: Self.json(status, ["message": "Forbidden", "error": "denied"])
    case .problem: Self.json(status, ["type": "about:blank", "title": "Forbidden", "status": JSON(status)])
    case .otherStatus:
      Self.json(status, ["type": "/problems/forbidden", "title": "You are not allowed to do this", "status": 499])
    case .empty: ClientResponse(status: status)
    }
  }

  private static func json(_ status: Int, _ body: JSON) -> ClientResponse {
    ClientResponse(status: status, fields: ["Content-Type": "application/json"], body: body.encoded())
  }
}

/// An element that an older app cannot read without a title.
private struct Titled: Codable, Identifiable, Equatable, Sendable {
  let id: String
  let title: String
}

@Suite("Proxies, old writes, and elements of other apps", .timeLimit(.minutes(10)))
struct HostileTests {
  @Test(
    "A response of a proxy refuses no write, ends no session, and does not stop the client",
    arguments: ForeignPage.allCases,
    [200, 201, 204, 302, 400, 401, 403, 404, 407, 409, 410, 412, 413, 422, 451, 503, 507]
  )
  func proxy(page: ForeignPage, status: Int) throws {
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    let proxy = Proxy(server)
    let client = try LockstepClient.inMemory(proxy, clock)
    clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    #expect(client.status.connection == .live)
    proxy.response = page.response(status)
    clock.start { _ = try? await client.defaults().increment("count") }
    clock.advance(by: .seconds(120))
    #expect(client.status.connection == .offline || client.status.connection == .connecting)
    #expect(client.status.connection == .connecting || client.status.failure?.title == "The server cannot be reached")
    #expect(client.refusedWrites.isEmpty && client.status.pending == 1)
    proxy.response = nil
    clock.advance(by: .seconds(120))
    #expect(client.status.connection == .live && server.json(of: "defaults/standard") == ["count": 1])
  }

  @Test(
    "A response of a proxy is no success and no refusal of a login or of new credentials",
    arguments: ForeignPage.allCases,
    [200, 201, 202, 401, 403, 409]
  )
  func proxyOfLogin(page: ForeignPage, status: Int) throws {
    let clock = VirtualClock()
    let proxy = Proxy(FakeServer(clock: clock))
    let (credentials, failures) = (MemoryCredentials("token"), Recorded<[ClientFailure?]>())
    let client = try LockstepClient(store: .memory, transport: proxy, credentials: credentials, clock: clock)
    proxy.response = page.response(status)
    clock.start {
      var found: [ClientFailure?] = []
      do { try await client.logIn(email: "ada@example.com", password: "x") } catch {
        found.append(error as? ClientFailure)
      }
      do { try await client.setCredentials(email: "ada@example.com", password: "x") } catch {
        found.append(error as? ClientFailure)
      }
      failures.set(found)
    }
    clock.settle()
    #expect(failures.value?.map { $0?.title } == Array(repeating: "The server cannot be reached", count: 2))
    #expect(failures.value?.allSatisfy { $0?.problem == nil && $0?.type == nil } == true)
    #expect(credentials.token() == "token")
  }

  @Test("A write whose response was lost two days ago is not applied again, and is confirmed if the copy has it")
  func oldWrite() throws {
    let fixture = try ClientFixture()
    fixture.server.loseNextResponse()
    let result = Recorded<WriteResult>()
    fixture.clock.start { [settings = fixture.settings] in
      if let confirmed = try? await settings.increment("count").confirmed { result.set(confirmed) }
    }
    fixture.clock.advance(by: .milliseconds(5))
    fixture.server.goOffline()
    fixture.clock.advance(by: .seconds(2 * 86_400))
    // The server applies the same request again by now, and still lists its key in the feed.
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(120))
    #expect(fixture.server.json(of: "defaults/standard") == ["count": 1])
    #expect(fixture.client.status.pending == 0 && fixture.settings.value("count", as: Int.self) == 1)
    #expect(result.value != nil && fixture.client.refusedWrites.isEmpty)
  }

  @Test("An element that the app cannot read may be removed, moved and repaired", arguments: [1, 2, 3, 4] as [UInt64])
  func unreadable(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let fixture = try ClientFixture()
    let list = fixture.client.list(of: Titled.self)
    let contents = Mutex((table: StrictTableView<Titled>(), trap: String?.none))
    fixture.clock.start {
      for await update in list.updates {
        contents.withLock { contents in
          do throws(StrictTableView<Titled>.Trap) {
            try contents.table.apply(update.changeset, leadingTo: update.new)
          } catch { contents.trap = error.description }
        }
      }
    }
    for _ in 0..<300 {
      let id = JSON.string("p\(Int.random(in: 0..<8, using: &numbers))")
      let index = JSON(Int.random(in: 0..<8, using: &numbers))
      let action: JSON =
        switch Int.random(in: 0..<6, using: &numbers) {
        case 0, 1: ["module": "favorites", "type": "add", "payload": ["id": id, "title": "t", "index": index]]
        case 2, 3: ["module": "favorites", "type": "add", "payload": ["id": id, "index": index]]
        case 4: ["module": "favorites", "type": "remove", "payload": ["id": id]]
        default: ["module": "favorites", "type": "move", "payload": ["id": id, "index": index]]
        }
      fixture.server.perform(action)
      if Bool.random(using: &numbers) { fixture.clock.advance(by: .milliseconds(20)) }
      let all = fixture.server.json(of: "favorites").arrayValue ?? []
      let readable = all.filter { $0["title"]?.stringValue != nil }.compactMap { $0["id"]?.stringValue }
      fixture.clock.advance(by: .milliseconds(20))
      #expect(list.elements.map(\.id) == readable && list.unreadableCount == all.count - readable.count, "seed \(seed)")
      #expect(contents.withLock { $0.trap } == nil, "seed \(seed)")
      #expect(contents.withLock { $0.table.rows } == list.elements, "seed \(seed)")
    }
  }

  @Test("A place among the readable elements is the same place in the server's list")
  func indices() throws {
    let fixture = try ClientFixture()
    for (id, title) in [("x", nil), ("a", "A"), ("y", nil), ("b", "B"), ("z", nil)] as [(String, JSON?)] {
      fixture.server.perform([
        "module": "favorites", "type": "add", "payload": ["id": .string(id), "title": title ?? .null],
      ])
    }
    fixture.clock.advance(by: .milliseconds(20))
    let list = fixture.client.list(of: Titled.self)
    #expect(list.elements.map(\.id) == ["a", "b"])
    fixture.clock.start { _ = try? await list.move("b", to: 0) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(list.elements.map(\.id) == ["b", "a"])
    fixture.clock.start { _ = try? await list.add(Titled(id: "c", title: "C"), at: 1) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(list.elements.map(\.id) == ["b", "c", "a"])
    fixture.clock.start { _ = try? await list.move("b", to: 2) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(list.elements.map(\.id) == ["c", "a", "b"])
  }

  @Test("A merge that waits for the user does not keep the client from connecting again")
  func slowMerge() throws {
    let fixture = try ClientFixture()
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "text", "value": "old"]])
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.goOffline()
    fixture.clock.start { [settings = fixture.settings, clock = fixture.clock] in
      _ = try? await settings.set("text", "mine") { _, mine in
        try? await clock.sleep(for: .seconds(600))
        return mine
      }
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "text", "value": "theirs"]])
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.client.status.connection == .offline)
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.status.connection == .live)
    fixture.clock.advance(by: .seconds(1_300))
    #expect(fixture.server.json(of: "defaults/standard") == ["text": "mine"] && fixture.client.status.pending == 0)
  }

  @Test("If the client's own module cannot read an action, the call throws and makes no write")
  func unreadableAction() throws {
    let (fixture, failures) = (try ClientFixture(), Recorded<[ClientFailure]>())
    fixture.clock.start { [client = fixture.client, photos = fixture.photos] in
      var found: [ClientFailure] = []
      do { _ = try await photos.add(Photo(id: "a", title: String(repeating: "x", count: 1_000))) } catch {
        found.append(ClientFailure(of: error))
      }
      do { try await client.perform { $0.perform("fly", ["id": "a"], in: "favorites") } } catch {
        found.append(ClientFailure(of: error))
      }
      failures.set(found)
    }
    fixture.clock.settle()
    #expect(failures.value?.map(\.status) == [422, 422])
    // The same form as a refusal of the server.
    #expect(failures.value?.map(\.type) == ["validation-failed", "validation-failed"])
    #expect(failures.value?.map(\.title) == Array(repeating: "Some of the input is not valid", count: 2))
    #expect(failures.value?.first?.description.contains("/title: ") == true)
    #expect(fixture.client.status.pending == 0 && fixture.client.refusedWrites.isEmpty)
  }

  @Test("A run that begins while the one before ends follows the server")
  func secondRun() throws {
    let fixture = try ClientFixture()
    let client = try LockstepClient.inMemory(fixture.server, fixture.clock)
    let first = fixture.clock.start { await client.run() }
    fixture.clock.advance(by: .milliseconds(20))
    first.cancel()
    fixture.clock.start { await client.run() }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(client.status.connection == .live)
  }
}
