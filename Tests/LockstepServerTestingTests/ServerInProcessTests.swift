import LockstepClient
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepServerTesting
import Testing

private struct Photo: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String?
}

@Suite("A server in the test's process", .timeLimit(.minutes(10)))
struct ServerInProcessTests {
  @Test("A request gets the response of the whole server")
  func requests() throws {
    try ServerInProcess.run { server in
      #expect(try server.send("GET", "/healthz").status == 200)
      #expect(try server.send("GET", "/readyz").status == 200)
      #expect(try server.send("GET", "/openapi.json").body.count > 10_000)
      #expect(try server.send("GET", "/metrics").status == 200)
      #expect(try server.send("GET", "/v1/me").status == 401)
      let token = try server.token(of: "ada@example.com")
      #expect(try server.send("PUT", "/v1/favorites/a", ["title": "Aurora"], token: token).status == 201)
      let response = try server.send("GET", "/v1/favorites/a", token: token)
      #expect(response["Revision"] == "1" && response["ETag"] != nil)
    }
  }

  @Test("Two clients of one user see the writes of each other at the time of the write")
  func twoClients() throws {
    try ServerInProcess.run { server in
      let (first, second) = (
        try server.makeClient(for: "ada@example.com"), try server.makeClient(for: "ada@example.com")
      )
      let photos = first.list(of: Photo.self)
      let seen = second.list(of: Photo.self)
      server.clock.start { await first.run() }
      server.clock.start { await second.run() }
      let counts = server.scheduler.createObserver(Int.self)
      server.scheduler.run(until: nil) { for await update in seen.updates { counts.next(update.new.count) } }
      server.scheduler.scheduleAt(10) { _ = try? await photos.add(Photo(id: "a", title: "Aurora")) }
      server.scheduler.scheduleAt(25) { server.goOffline() }
      server.scheduler.scheduleAt(30) { _ = try? await photos.add(Photo(id: "b", title: "Borealis")) }
      server.scheduler.scheduleAt(90) { server.goOnline() }
      server.scheduler.advance(to: 200)
      #expect(counts.events.first == .next(0, 0) && counts.events.dropFirst().first == .next(10, 1))
      #expect(seen.elements.map(\.id) == ["a", "b"] && first.status.pending == 0)
    }
  }

  @Test("A long poll ends when its time is over, and at once when something has changed")
  func longPolls() throws {
    try ServerInProcess.run { server in
      let token = try server.token(of: "ada@example.com")
      let etag = try #require(try server.send("GET", "/v1/favorites", token: token)["ETag"])
      let statuses = server.scheduler.createObserver(Int.self)
      server.scheduler.run(until: nil) {
        for _ in 1...2 {
          let request = ClientRequest("GET", "/v1/favorites?wait=50", token: token, fields: ["If-None-Match": etag])
          if let response = try? await server.response(to: request) { statuses.next(response.status) }
        }
      }
      server.scheduler.scheduleAt(70) {
        _ = try? await server.response(to: ClientRequest("PUT", "/v1/favorites/a", token: token, body: "{}"))
      }
      server.scheduler.advance(to: 200)
      #expect(statuses.events == [.next(50, 304), .next(70, 200)])
    }
  }

  @Test("A request that waits gets a response when the server stops")
  func draining() throws {
    try ServerInProcess.run { server in
      let token = try server.token(of: "ada@example.com")
      let statuses = server.scheduler.createObserver(Int.self)
      server.scheduler.run(until: nil) {
        let request = ClientRequest("GET", "/v1/changes?since=now&wait=50", token: token)
        guard let response = try? await server.response(to: request) else { return }
        let cursor = (try? JSON(parsing: response.body))?["cursor"]?.stringValue ?? ""
        var next = request
        next.target = "/v1/changes?since=\(cursor)&wait=50"
        if let response = try? await server.response(to: next) { statuses.next(response.status) }
      }
      server.scheduler.scheduleAt(20) { try? await server.restart() }
      server.scheduler.advance(to: 100)
      #expect(statuses.events == [.next(20, 200)])
      #expect(try server.send("GET", "/v1/favorites", token: token).status == 200)
    }
  }

  @Test("A session ends 90 days after its last use")
  func sessionExpiry() throws {
    try ServerInProcess.run { server in
      let token = try server.token(of: "ada@example.com")
      let day = 86_400
      server.scheduler.advance(to: 89 * day)
      #expect(try server.send("GET", "/v1/me", token: token).status == 200)
      server.scheduler.advance(to: 178 * day)
      #expect(try server.send("GET", "/v1/me", token: token).status == 200)
      server.scheduler.advance(to: 269 * day)
      #expect(try server.send("GET", "/v1/me", token: token).status == 401)
    }
  }

  @Test("A write whose response was lost is applied once")
  func lostResponse() throws {
    try ServerInProcess.run { server in
      let client = try server.makeClient(for: "ada@example.com")
      let settings = client.defaults()
      server.clock.start { await client.run() }
      server.scheduler.scheduleAt(10) {
        server.loseNextResponse()
        _ = try? await settings.increment("opened")
      }
      server.scheduler.advance(to: 60)
      #expect(settings.value("opened", as: Int.self) == 1 && client.status.pending == 0)
      let token = try server.token(of: "ada@example.com")
      #expect(try server.send("GET", "/v1/defaults/standard/opened", token: token).body == Array("1".utf8))
    }
  }

  @Test("Too many wrong passwords are refused for a while")
  func attempts() throws {
    try ServerInProcess.run { server in
      _ = try server.token(of: "ada@example.com")
      let body: JSON = ["email": "ada@example.com", "password": "wrong wrong"]
      var statuses: Set<Int> = []
      for _ in 1...30 { statuses.insert(try server.send("POST", "/v1/sessions", body).status) }
      #expect(statuses == [401, 429])
      server.scheduler.advance(to: 3_600)
      #expect(try server.send("POST", "/v1/sessions", body).status == 401)
    }
  }
}
