import LockstepClient
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepServerTesting
import Synchronization
import Testing

@Suite("Problems of the fake server", .timeLimit(.minutes(10)))
struct FakeProblemTests {
  private static let long = JSON.string(String(repeating: "t", count: 600))

  @Test(
    "A refused write gets the problem document of a real server",
    arguments: [
      ["actions": [["module": "favorites", "type": "move", "payload": ["id": "missing", "index": 0]]]],
      ["actions": [["module": "favorites", "type": "add", "payload": ["id": "", "title": long]]]],
      ["actions": [["module": "favorites", "type": "fly", "payload": [:]]]],
      ["actions": [["module": "cars", "type": "add", "payload": ["id": "a"]]]],
      ["actions": [["module": "defaults", "type": "increment", "payload": ["key": "text", "by": 1]]]],
      ["actions": []],
    ] as [JSON]
  )
  func refusedWrite(body: JSON) throws {
    try ServerInProcess.run { server in
      let fake = FakeServer(clock: server.clock)
      let setup: JSON = ["module": "defaults", "type": "set", "payload": ["key": "text", "value": "a"]]
      fake.perform(setup)
      let token = try server.token(of: "ada@example.com")
      try server.send("POST", "/v1/actions", ["actions": .array([setup])], token: token)
      let real = try server.send("POST", "/v1/actions", body, token: token)
      #expect(real.status >= 400 && real["Content-Type"] == "application/problem+json")
      let mine = try response(of: fake, to: body, server.clock)
      #expect(mine.status == real.status && mine.body == real.body, "\(String(decoding: mine.body, as: UTF8.self))")
    }
  }

  @Test("A condition that does not hold, and a token that is invalid, get the problem documents of a real server")
  func conditionAndToken() throws {
    try ServerInProcess.run { server in
      let fake = FakeServer(clock: server.clock)
      let token = try server.token(of: "ada@example.com")
      func set(_ value: JSON, ifMatch: JSON? = nil) -> JSON {
        var action: JSONObject = ["module": "defaults", "type": "set", "payload": ["key": "k", "value": value]]
        action["ifMatch"] = ifMatch
        return ["actions": [.object(action)]]
      }
      let (first, fakeFirst) = (
        try JSON(parsing: server.send("POST", "/v1/actions", set(1), token: token).body),
        try JSON(parsing: response(of: fake, to: set(1), server.clock).body)
      )
      try server.send("POST", "/v1/actions", set(2), token: token)
      _ = try response(of: fake, to: set(2), server.clock)
      let real = try server.send("POST", "/v1/actions", set(3, ifMatch: first["cursor"]), token: token)
      let mine = try response(of: fake, to: set(3, ifMatch: fakeFirst["cursor"]), server.clock)
      #expect(real.status == 412 && Self.withoutCursor(real) == Self.withoutCursor(mine))
      fake.revokeSession("token")
      let (ended, mineEnded) = (
        try server.send("POST", "/v1/actions", set(4), token: "none"), try response(of: fake, to: set(4), server.clock)
      )
      #expect(ended.status == 401 && ended.body == mineEnded.body)
    }
  }

  private func response(of fake: FakeServer, to body: JSON, _ clock: VirtualClock) throws -> ClientResponse {
    let found = Mutex<ClientResponse?>(nil)
    clock.start {
      let fields = ["Authorization": "Bearer token"]
      let request = ClientRequest(method: "POST", target: "/v1/actions", fields: fields, body: body.encoded())
      let response = try? await fake.response(to: request)
      found.withLock { $0 = response }
    }
    clock.settle()
    return try #require(found.withLock { $0 })
  }

  private static func withoutCursor(_ response: ClientResponse) -> JSON {
    var document = (try? JSON(parsing: response.body))?.objectValue ?? JSONObject()
    document["cursor"] = .null
    return .object(document)
  }
}
