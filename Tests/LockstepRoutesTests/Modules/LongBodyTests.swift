import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepComposition
@testable import LockstepRoutes
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Long bodies of requests", .timeLimit(.minutes(10)))
struct LongBodyTests {
  private static let text = String(repeating: "x", count: BodyDecoder.shortBody)
  /// The longest data of a favorite.
  private static let data = #""\#(text.dropLast(2))""#

  /// A request with a long body that takes few steps.
  struct Sent: CustomTestStringConvertible, Sendable {
    let method: String
    let target: String
    let body: String
    var type = "application/json"
    let status: Int

    var testDescription: String { "\(method) \(target)" }
  }

  static let sent = [
    Sent(method: "PUT", target: "/v1/defaults/standard/a", body: "\"\(text)\"", status: 201),
    Sent(method: "PATCH", target: "/v1/defaults/standard", body: #"{"a":"\#(text)"}"#, status: 200),
    Sent(
      method: "PATCH",
      target: "/v1/defaults/standard",
      body: #"[{"op":"test","path":"/a","value":"\#(text)"}]"#,
      type: "application/json-patch+json",
      status: 409
    ),
    Sent(method: "PUT", target: "/v1/favorites/a", body: #"{"data":\#(data)}"#, status: 201),
    Sent(method: "PUT", target: "/v1/favorites/a", body: "[\(text)", status: 400),
    Sent(method: "POST", target: "/v1/actions", body: #"{"actions":["\#(text)"]}"#, status: 422),
    Sent(
      method: "POST",
      target: "/v1/actions?dryRun=true",
      body: Actions.batch([Actions.action("favorites", "add", #"{"id":"a","data":\#(data)}"#)]),
      status: 200
    ),
    Sent(method: "POST", target: "SCREEN/actions", body: #"[{"type":"\#(text)"}]"#, status: 422),
    Sent(method: "POST", target: "/v1/reactors/photoDetail", body: #"{"arguments":{"x":"\#(text)"}}"#, status: 422),
  ]

  private typealias Actions = ActionsRouteTests

  /// Sends a request, and returns the connection without waiting for the response.
  private static func begin(_ sent: Sent, _ device: Device) async throws -> RawClient {
    var target = sent.target
    if target.hasPrefix("SCREEN") {
      let screen = try await device.open("photoDetail", #"{"arguments":{"photoId":"a"}}"#)
      target = target.replacing("SCREEN", with: screen.href)
    }
    let fields = [
      "Authorization: Bearer \(device.token)", "Content-Type: \(sent.type)", "Content-Length: \(sent.body.utf8.count)",
    ]
    let client = try device.users.connect()
    try await client.send(StubbedServer.request(sent.method, target, fields) + sent.body)
    return client
  }

  private static func isFree(_ bodies: BodyDecoder) async {
    await eventually {
      [bodies.short, bodies.long].allSatisfy { $0.networks.reserved == 0 && $0.users.reserved == 0 }
    }
  }

  @Test("A long body is read by an encoder thread, while others read and write", arguments: sent)
  func offTheLoop(sent: Sent) async throws {
    try await ServerFixture.run { users in
      let (ada, bob) = (try await users.signUp(), try await users.signUp("bob"))
      let held = try await HeldEncoders(users)
      defer { held.gate.open() }
      let client = try await Self.begin(sent, ada)
      await held.hasRequest(of: ada)
      // There is only one event loop and one writer thread.
      #expect(try await ada.get("/v1/favorites").status == 200)
      #expect(try await bob.put("/v1/favorites/b", "{}").status == 201)
      #expect(try await ada.put("/v1/favorites/short", "{}").status == 201)
      try await held.letGo()
      let response = try await client.response()
      #expect(response.status == sent.status, "\(response.text)")
    }
  }

  @Test("A long body waits as text while parsed bodies use the memory, and is dropped if its client disconnects")
  func memory() async throws {
    let limit = 2 * 1024 * 1024
    try await ServerFixture.run {
      $0.limits.body = limit
      $0.limits.bodyMemory = limit
    } _: { users in
      let ada = try await users.signUp()
      let services = try #require(users.running.withLock { $0?.services.users })
      let (memory, encoder) = (services.encoding.bodies.long.networks, services.encoding.background)
      var others = [try await memory.reserve(limit, for: 1), try await memory.reserve(limit, for: 2)]
      // The rest is for short bodies.
      #expect(memory.reserved == limit / 8 * 7)
      let gone = try await Self.begin(Self.sent[0], ada)
      await eventually { memory.waitingCount == 1 }
      let patient = try await Self.begin(Self.sent[3], ada)
      // The first one has the user's memory.
      await eventually { services.encoding.bodies.long.users.waitingCount == 1 }
      // A very short body needs none, and a short one does not wait for long ones.
      #expect(try await ada.put("/v1/favorites/short", "{}").status == 201)
      #expect(try await ada.put("/v1/favorites/longer", #"{"data":"\#(Self.text.dropFirst(8_000))"}"#).status == 201)
      #expect(encoder.shares.waitingCount == 0)
      gone.close()
      await eventually { services.encoding.bodies.long.users.waitingCount == 0 && memory.waitingCount == 1 }
      others.removeAll()
      #expect(try await patient.response().status == 201)
      #expect(try await ada.get("/v1/defaults/standard/a").status == 404)
      await eventually { memory.reserved == 0 && services.encoding.bodies.long.users.reserved == 0 }
    }
  }

  @Test("The memory of a parsed body counts until its transaction is over")
  func untilTheEnd() async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let bodies = try #require(users.running.withLock { $0?.services.users.encoding.bodies })
      let held = try await users.holdWriter()
      defer { held.letGo() }
      let waiting = held.waiting
      // The event loop reads the second body.
      let short = Sent(
        method: "PUT",
        target: "/v1/favorites/b",
        body: #"{"data":"\#(Self.text.dropFirst(1_000))"}"#,
        status: 201
      )
      let clients = [try await Self.begin(Self.sent[3], ada), try await Self.begin(short, ada)]
      await eventually { held.waiting == waiting + 2 }
      for (pool, sent) in [(bodies.long, Self.sent[3]), (bodies.short, short)] {
        #expect(pool.networks.reserved == 32 * sent.body.utf8.count)
        #expect(pool.users.reserved == 32 * sent.body.utf8.count)
      }
      held.letGo()
      for client in clients { #expect(try await client.response().status == 201) }
      await Self.isFree(bodies)
    }
  }

  /// Writes that are the first work of the threads that they need.
  static let firstWrites = [
    sent[0],
    Sent(method: "POST", target: "/v1/actions", body: longBatch, status: 200),
    Sent(method: "POST", target: "/v1/actions?dryRun=true", body: longBatch, status: 200),
  ]

  /// An encoder thread decides on it.
  private static let longBatch = Actions.batch(
    (0..<10).map { Actions.action("favorites", "add", #"{"id":"\#($0)","data":\#(data)}"#) }
  )

  @Test("The memory of the first long body of a server is free after its response", arguments: firstWrites)
  func first(sent: Sent) async throws {
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      let bodies = try #require(users.running.withLock { $0?.services.users.encoding.bodies })
      let response = try await Self.begin(sent, ada).response()
      #expect(response.status == sent.status, "\(response.text)")
      await Self.isFree(bodies)
    }
  }

  @Test("A value that is too long is refused when it is read, and does not reach the writer")
  func tooLong() async throws {
    let value = "\"\(String(repeating: "x", count: 256 * 1024))\""
    try await ServerFixture.run { users in
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/favorites/a", "{}").status == 201)
      let held = try await users.holdWriter()
      defer { held.letGo() }
      let batch = Actions.batch([Actions.action("defaults", "merge", #"{"suite":"standard","values":{"a":\#(value)}}"#)]
      )
      for (method, target, body, pointer) in [
        ("PUT", "/v1/defaults/standard/a", value, ""),
        ("PATCH", "/v1/defaults/standard", #"{"a":\#(value),"b":null}"#, "/a"),
        ("POST", "/v1/actions", batch, "/actions/0/payload/values/a"),
      ] {
        let sent = Sent(method: method, target: target, body: body, status: 422)
        let response = try await Self.begin(sent, ada).response()
        #expect(response.status == 422)
        let fault = response.json["errors"]?.arrayValue?.first
        #expect(fault?["pointer"]?.stringValue == pointer, "\(method) \(target)")
        #expect(fault?["detail"]?.stringValue?.contains("at most 262144 bytes") == true)
      }
    }
  }

  @Test("A payload with thousands of unknown members gets as many faults as a response lists")
  func manyFaults() {
    let payload = JSON.object(JSONObject((0..<3_000).map { ("a\($0)", JSON($0)) }))
    var reader = PayloadReader(payload)
    reader.add("a0", "wrong")
    #expect(throws: Refusal.self) { try reader.finish() }
    guard case .invalid(let faults) = reader.refusal else { return }
    #expect(faults.count == 101)
    #expect(faults.prefix(2).map(\.pointer) == ["/a0", "/a1"])
  }
}
