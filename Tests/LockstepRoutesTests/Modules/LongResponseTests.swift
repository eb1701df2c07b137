import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepRoutes
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Responses that take long to encode", .timeLimit(.minutes(10)))
struct LongResponseTests {
  /// Adds large favorites in one revision and returns the cursor after it.
  private static func fill(_ device: Device, title: String, bytes: Int = 2_000) async throws -> String {
    let data = String(repeating: "x", count: bytes)
    let actions = (0..<500).map { number in
      ActionsRouteTests.action("favorites", "add", #"{"id":"\#(number)","title":"\#(title)","data":"\#(data)"}"#)
    }
    let response = try await device.post("/v1/actions", ActionsRouteTests.batch(actions))
    try #require(response.status == 200, "\(response.text)")
    return try #require(response.cursor)
  }

  @Test(
    "Encoding does not block the event loop, and is done once for all clients with the same request",
    arguments: [
      "/v1/changes", "/v1/changes?since=other000.1.0", "/v1/changes?since=CURSOR&wait=30",
    ]
  )
  func offTheLoop(path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let before = try await Self.fill(ada, title: "a")
      _ = try await Self.fill(ada, title: "b")
      let path = path.replacing("CURSOR", with: before)
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      var clients: [RawClient] = []
      for number in 0..<5 {
        clients.append(try await ada.waiting(path))
        await eventually {
          held.backgroundEncoder.documents.waitingCount + held.backgroundEncoder.representations.waitingCount >= number
        }
      }
      // The only event loop responds to other requests, also of the same user.
      #expect(try await ada.get("/v1/favorites/0").status == 200)
      try await held.letGo()
      var bodies: [[UInt8]] = []
      for client in clients {
        let response = try await client.response()
        #expect(response.status == 200)
        bodies.append(response.body)
      }
      #expect(bodies.allSatisfy { $0 == bodies[0] && $0.count > 1_000_000 })
    }
  }

  @Test("A wait on a resource that takes long to encode continues while it is unchanged, and ends when it changes")
  func waits() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await Self.fill(ada, title: "a")
      let tag = try #require(try await ada.get("/v1/favorites?prefix=1").field("ETag"))
      #expect(try await ada.get("/v1/favorites?prefix=1").tag.map { "\"\($0)\"" } == tag)
      let client = try await ada.waiting("/v1/favorites?prefix=1&wait=30", ["If-None-Match: \(tag)"])
      await eventually { users.waiting == 1 }
      _ = try await ada.put("/v1/favorites/2", "{}")
      _ = try await ada.put("/v1/favorites/1", "{}")
      let response = try await client.response()
      #expect(response.status == 200)
      #expect(response.json["items"]?.arrayValue?.first { $0["id"] == "1" }?["data"] == nil)
    }
  }

  @Test("A long query is evaluated off the event loop, once for all clients, and again only after a change of the list")
  func queries() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await Self.fill(ada, title: "a")
      let path = "/v1/favorites?where=title:eq:a&sort=-id&limit=2"
      let first = try await ada.get(path)
      #expect(first.json["count"] == 500 && first.json["items"]?[0]?["id"] == "99")
      let fields = ["If-None-Match: \(first.field("ETag") ?? "")"]
      let waiter = try await ada.waiting("\(path)&wait=20", fields)
      await eventually { users.waiting == 1 }
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      // No thread could evaluate the query again. So the wait only ends because it need not.
      #expect(try await ada.put("/v1/defaults/standard/x", "1").status == 201)
      users.advance(by: 20.2)
      let unchanged = try await waiter.response()
      #expect(unchanged.status == 304 && unchanged.tag == first.tag)
      #expect(!held.backgroundEncoder.shares.isRunning(try #require(UserID(ada.user))))
      var clients: [RawClient] = []
      for number in 0..<5 {
        clients.append(try await ada.waiting(path))
        await eventually { held.backgroundEncoder.representations.waitingCount >= number }
      }
      // The only event loop responds to other requests, also of the same user.
      #expect(try await ada.get("/v1/favorites/0").status == 200)
      try await held.letGo()
      for client in clients {
        let response = try await client.response()
        #expect(response.status == 200 && response.body == first.body)
      }
    }
  }

  @Test("An event that takes long to compute is sent when it is ready, and the stream continues after it")
  func events() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for part in 0..<5 {
        let adding = (0..<500).map { ActionsRouteTests.action("favorites", "add", #"{"id":"\#(part * 500 + $0)"}"#) }
        _ = try await ada.post("/v1/actions", ActionsRouteTests.batch(adding))
      }
      let client = try await ada.waiting("/v1/changes?since=now", ["Accept: text/event-stream"])
      try await client.receive(until: "data: ")
      await eventually { users.waiting == 1 }
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      // The event is short, but it takes long to compare so many elements.
      let clearing = ActionsRouteTests.batch([ActionsRouteTests.action("favorites", "clear", "{}")])
      _ = try await ada.post("/v1/actions", clearing)
      // A change during the computation follows in the next event.
      _ = try await ada.put("/v1/defaults/standard/k", "1")
      users.advance(by: 15.2)
      try await client.receive(until: ": alive")
      try await held.letGo()
      try await client.receive(until: #""collection":"favorites""#)
      try await client.receive(until: "\ndata: ")
      let next = try JSON(parsing: String(decoding: try await client.line().prefix { $0 != 0x0A }, as: UTF8.self))
      #expect(next["changesets"]?[0]?["set"] == ["k": 1])
    }
  }

  @Test("A short read with If-Match does not wait for the encoder threads")
  func shortConditions() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let tag = try #require(try await ada.put("/v1/favorites/x", "{}").field("ETag"))
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      for path in ["/v1/favorites/x", "/v1/favorites", "/v1/favorites?prefix=x"] {
        for (condition, status) in [("*", 200), (#""other""#, 412)] {
          #expect(try await ada.get(path, ["If-Match: \(condition)"]).status == status, "\(path) \(condition)")
        }
      }
      #expect(try await ada.get("/v1/favorites/x", ["If-Match: \(tag)"]).status == 200)
      try await held.letGo()
    }
  }

  @Test("Networks take turns with the checks and decisions of long writes")
  func networks() async throws {
    let pool = try WorkerPool(name: "encode", threads: 1, capacity: 64)
    let encoder = BackgroundEncoder(pool, threads: 1)
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let order = LockedState<[UInt64]>([])
    let start = { @Sendable (number: UInt64, network: Int) -> Task<Void, any Error> in
      Task {
        try await encoder.run(for: SyncFixture.session(number).user, from: network) {
          order.withLock { $0.append(number) }
          arrival.open()
          gate.pass()
        }
      }
    }
    defer { gate.open() }
    var tasks = [start(1, 1)]
    await arrival.opened()
    for number in UInt64(2)...4 { tasks.append(start(number, 1)) }
    await eventually { encoder.networks.waitingCount == 3 }
    tasks.append(start(5, 2))
    await eventually { pool.waiting == 1 }
    gate.open()
    for task in tasks { try await task.value }
    #expect(order.withLock { $0 }.prefix(2) == [1, 5])
  }

  @Test("A write with a long response gets it like any other")
  func writes() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      for key in 0..<6 {
        let value = #""\#(String(repeating: "x", count: 200_000))""#
        _ = try await ada.put("/v1/defaults/standard/\(key)", value)
      }
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      let client = try users.connect()
      let body = #"{"n":1}"#
      let fields = ["Authorization: Bearer \(ada.token)", "Content-Length: \(body.utf8.count)"]
      try await client.send(StubbedServer.request("PATCH", "/v1/defaults/standard", fields) + body)
      // The write is applied before its response is encoded.
      while try await ada.get("/v1/defaults/standard/n").status != 200 {}
      try await held.letGo()
      let response = try await client.response()
      #expect(response.status == 200)
      #expect(response.body == (try await ada.get("/v1/defaults/standard")).body)
    }
  }

  /// Writes six values of 200,000 bytes to the suite `standard`. Returns the cursor after them.
  private static func fillSuite(_ device: Device) async throws -> String {
    var cursor: String?
    for key in 0..<6 {
      let value = #""\#(String(repeating: "x", count: 200_000))""#
      cursor = try await device.put("/v1/defaults/standard/k\(key)", value).cursor
    }
    return try #require(cursor)
  }

  @Test("A long part of a past state does not block the event loop, unless the client has it already")
  func past() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let before = try await Self.fillSuite(ada)
      let now = try #require(try await ada.put("/v1/defaults/standard/n", "1").cursor)
      for cursor in [before, now] {
        let path = "/v1/defaults/standard?at=\(cursor)"
        let whole = try await ada.get(path)
        let held = try await HeldEncoders(users)
        defer { held.gate.open() }
        let client = try await ada.waiting("\(path)&prefix=k")
        await held.hasRequest(of: ada)
        // The only event loop responds to other requests.
        #expect(try await ada.get("/v1/defaults/standard/n").status == 200)
        // The cursor of the whole suite is known without its content.
        let tag = try #require(whole.tag)
        #expect(try await ada.get(path, ["If-None-Match: \"\(tag)\""]).status == 304)
        try await held.letGo()
        let response = try await client.response()
        #expect(response.status == 200 && response.body.count > 1_200_000)
      }
    }
  }

  @Test(
    "A repeated write whose response is rebuilt does not block the event loop",
    arguments: ["resource", "refusal", "results"]
  )
  func repeated(kind: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await Self.fillSuite(ada)
      var fields = ["Authorization: Bearer \(ada.token)", "Idempotency-Key: key"]
      if kind == "refusal" { fields.append("If-None-Match: *") }
      var (method, path, body) = ("PATCH", "/v1/defaults/standard", #"{"n":1}"#)
      if kind == "results" {
        let data = String(repeating: "x", count: 2_000)
        let adding = (0..<10).map {
          ActionsRouteTests.action("favorites", "add", #"{"id":"\#($0)","data":"\#(data)"}"#)
        }
        (method, path, body) = ("POST", "/v1/actions", ActionsRouteTests.batch(adding))
      }
      let request = StubbedServer.request(method, path, fields + ["Content-Length: \(body.utf8.count)"]) + body
      let client = try users.connect()
      try await client.send(request)
      let first = try await client.response()
      #expect(first.status == (kind == "refusal" ? 412 : 200))
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      try await client.send(request)
      await held.hasRequest(of: ada)
      #expect(try await ada.get("/v1/defaults/standard/k0").status == 200)
      try await held.letGo()
      let again = try await client.response()
      let isEqual = again.body == first.body
      #expect(isEqual && again.status == first.status && again.field("Idempotency-Replayed") == "true")
    }
  }

  @Test("A long list or map in pieces equals one encoded element by element, and no encoder copies it")
  func pieces() async throws {
    try await ServerFixture.run(modules: [.scores]) { users in
      let ada = try await users.signUp()
      _ = try await Self.fill(ada, title: "a")
      for key in 0..<6 {
        let value = #""\#(String(repeating: "x", count: 200_000))""#
        #expect(try await ada.put("/v1/defaults/standard/\(key)", value).status == 201)
      }
      for part in 0..<4 {
        let name = "\(part)\(String(repeating: "k", count: 150))"
        let scores = (0..<500).map {
          ActionsRouteTests.action("scores", "set", #"{"key":"\#(name)\#($0)","value":1}"#)
        }
        #expect(try await ada.post("/v1/actions", ActionsRouteTests.batch(scores)).status == 200)
      }
      for path in ["/v1/favorites", "/v1/defaults/standard", "/v1/scores"] {
        // The empty prefix selects all elements one by one.
        let parts = try await ada.get("\(path)?prefix=")
        let held = try await HeldEncoders(users)
        defer { held.gate.open() }
        let whole = try await ada.get(path)
        let (tag, digestTag) = (try #require(whole.tag), try #require(parts.tag))
        // A failed comparison of long texts would take minutes to describe.
        let expected = parts.text.replacing(#"{"cursor":"\#(digestTag)""#, with: #"{"cursor":"\#(tag)""#)
        let isEqual = whole.text == expected
        #expect(isEqual && whole.body.count > 300_000, "\(path)")
        #expect(whole.field("Content-Length") == "\(whole.body.count)")
        let head = try await ada.ask("HEAD", path)
        #expect(head.field("Content-Length") == whole.field("Content-Length") && head.body.isEmpty)
        #expect(try await ada.get(path, ["If-None-Match: \"\(tag)\""]).status == 304)
        let gzipped = try await ada.get(path, ["Accept-Encoding: gzip"])
        let isEqualAgain = try gunzipped(gzipped.body) == whole.body
        #expect(isEqualAgain && gzipped.tag == "\(tag)-gzip")
        try await held.letGo()
      }
    }
  }

  @Test(
    "A page of a list in pieces equals the page that is encoded element by element",
    arguments: [1, 3, 32, 33, 200, 499, 500, 501]
  )
  func pages(limit: Int) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await Self.fill(ada, title: "a")
      for after in ["", "&after=0", "&after=250", "&after=498", "&after=499"] {
        let page = try await ada.get("/v1/favorites?limit=\(limit)\(after)")
        let parts = try await ada.get("/v1/favorites?limit=\(limit)&prefix=\(after)")
        let isEqual = page.body == parts.body
        #expect(isEqual && page.status == 200 && page.tag == parts.tag, "\(after)")
        #expect(page.field("Link") == parts.field("Link")?.replacing("&prefix=", with: ""), "\(after)")
      }
    }
  }

  @Test("Clients of one user that do not read leave room for the long responses of other users")
  func shares() async throws {
    func configure(_ configuration: inout Configuration) {
      configuration.limits.outputMemory = 20 << 20
      configuration.defaultsQuota.bytes = 20 << 20
    }
    try await ServerFixture.run(configure) { users in
      let (ada, bob) = (try await users.signUp("ada"), try await users.signUp("bob"))
      let value = #""\#(String(repeating: "x", count: 240_000))""#
      for key in 0..<36 { #expect(try await ada.put("/v1/defaults/standard/\(key)", value).status == 201) }
      for key in 0..<4 { #expect(try await bob.put("/v1/defaults/standard/\(key)", value).status == 201) }
      let path = "/v1/defaults/standard"
      let client = try RawClient(
        port: try #require(users.running.withLock { $0 }).address.port,
        receiveBuffer: 16 * 1024
      )
      try await client.send(StubbedServer.request("GET", path, ["Authorization: Bearer \(ada.token)"]))
      try await client.receive(until: "HTTP/1.1 200")
      for device in [ada, try await users.logIn("ada")] {
        let refusal = try await device.get(path)
        let isExplained = refusal.text.contains("your share")
        #expect(refusal.status == 503 && isExplained)
        #expect(try await device.get("/v1/me").status == 200)
      }
      #expect(try await bob.get(path).status == 200)
      #expect(try await bob.get("/v1/me/export").status == 200)
    }
  }

  @Test(
    "Queries, pages and the feed wait for the turn of the client's network",
    arguments: ["/v1/favorites?where=title:eq:a", "/v1/favorites?prefix=1", "/v1/changes"]
  )
  func turnsOfEncoding(path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      _ = try await Self.fill(ada, title: "a")
      let services = try #require(users.running.withLock { $0?.services.users })
      try await Self.hold(services.encoding.background.networks, ClientNetwork(host: "127.0.0.1").hashValue) {
        try await ada.waiting(path)
      }
    }
  }

  @Test(
    "Reads of the store wait for the turn of the client's network",
    arguments: ["/v1/journal", "/v1/me", "/v1/me/export", "/v1/favorites?at=CURSOR"]
  )
  func turnsOfReading(path: String) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let cursor = try #require(try await ada.put("/v1/favorites/x", "{}").cursor)
      for number in 0..<40 { _ = try await ada.put("/v1/favorites/y", #"{"title":"\#(number)"}"#) }
      let services = try #require(users.running.withLock { $0?.services.users })
      services.states.cache.forgetAll()
      let network = ClientNetwork(host: "127.0.0.1").hashValue
      try await Self.hold(services.storage.readers.networks, UserReaders.NetworkReads(network: network)) {
        try await ada.waiting(path.replacing("CURSOR", with: cursor))
      }
    }
  }

  /// Takes all turns of a network, and expects that the request waits for them.
  private static func hold<Owner: Hashable & Sendable>(
    _ turns: FairShareLimiter<Owner>,
    _ owner: Owner,
    _ request: () async throws -> RawClient
  ) async throws {
    let (isHeld, gate) = (LockedState(0), ThreadGate())
    defer { gate.open() }
    let holders = (0..<8).map { _ in
      Task {
        try await turns.run(for: owner) {
          isHeld.withLock { $0 += 1 }
          await aside { gate.pass() }
        }
      }
    }
    await eventually { isHeld.withLock { $0 } + turns.waiting(of: owner) == holders.count }
    let waiting = turns.waiting(of: owner)
    let client = try await request()
    await eventually { turns.waiting(of: owner) == waiting + 1 }
    gate.open()
    #expect(try await client.response().status == 200)
    for holder in holders { try await holder.value }
  }
}
