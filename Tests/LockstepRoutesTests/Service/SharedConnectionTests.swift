import LockstepAccounts
import LockstepJSON
import LockstepMiddleware
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "Many users' requests over one connection, as a reverse proxy sends them",
  .timeLimit(.minutes(10))
)
struct SharedConnectionTests {
  /// A connection over which many users send their requests.
  private final class Shared {
    private let client: RawClient
    private let users: ServerFixture
    private let number = Mutex(0)

    init(_ users: ServerFixture) throws {
      self.users = users
      client = try users.connect()
    }

    func get(_ device: Device, _ path: String, _ fields: [String] = [], method: String = "GET") async throws
      -> RawResponse
    {
      try await client.send(StubbedServer.request(method, path, ["Authorization: Bearer \(device.token)"] + fields))
      return try await client.response(toHead: method == "HEAD")
    }

    /// The response to a request that the server has never got before.
    func fresh(_ device: Device, _ path: String, _ fields: [String] = [], method: String = "GET") async throws
      -> RawResponse
    {
      let number = number.withLock { number in
        number += 1
        return number
      }
      return try await get(device, path, fields + ["X-Number: \(number)"], method: method)
    }
  }

  /// Users with different contents, on one connection.
  private static func run(
    _ change: (inout Configuration) -> Void = { _ in },
    _ body: (ServerFixture, Shared, [Device]) async throws -> Void
  ) async throws {
    try await ServerFixture.run {
      $0.administratorToken = "admin"
      change(&$0)
    } _: { users in
      var devices: [Device] = []
      for name in ["ada", "bob", "cleo"] {
        let device = try await users.signUp(name)
        try await ConditionalRequestTests.fill(device)
        _ = try await device.put("/v1/defaults/standard/name", "\"\(name)\"")
        _ = try await device.put("/v1/favorites/\(name)", #"{"title":"\#(name)"}"#)
        devices.append(device)
      }
      try await body(users, try Shared(users), devices)
    }
  }

  /// Compares everything that a client sees, without what differs for each response.
  private static func expect(_ response: RawResponse, equals other: RawResponse, _ comment: Comment) {
    #expect(response.status == other.status && response.body == other.body, comment)
    for name in [
      "ETag", "Cursor", "Vary", "Content-Type", "Content-Encoding", "Content-Length", "Cache-Control", "Link",
    ] {
      #expect(response.values(of: name) == other.values(of: name), "\(comment): \(name)")
    }
  }

  @Test("Each user gets their own latest state after each write")
  func writes() async throws {
    try await Self.run { users, shared, devices in
      let changes: [(Int, (Device) async throws -> RawResponse)] = [
        (0, { try await $0.put("/v1/favorites/a", #"{"title":"New"}"#) }),
        (1, { try await $0.put("/v1/defaults/standard/theme", #""light""#) }),
        (1, { try await $0.delete("/v1/favorites/b") }),
        (2, { try await $0.patch("/v1/profile", #"{"companyName":"Aurora"}"#) }),
        (0, { try await $0.post("/v1/actions", #"{"actions":[{"module":"defaults","type":"clear","payload":{}}]}"#) }),
        (
          0,
          { _ in
            let body = Array(#"{"theme":"app"}"#.utf8)
            return try await users.ask("PATCH", "/v1/admin/registered/standard", [], body: body, token: "admin")
          }
        ),
      ]
      for (number, (writer, change)) in changes.enumerated() {
        for turn in 1...3 {
          for path in ConditionalRequestTests.resources {
            for (index, device) in devices.enumerated() {
              let response = try await shared.get(device, path)
              let comment: Comment = "\(path) of user \(index), turn \(turn), before change \(number)"
              Self.expect(response, equals: try await shared.fresh(device, path), comment)
            }
          }
        }
        let status = try await change(devices[writer]).status
        #expect((200..<300).contains(status), "change \(number)")
      }
    }
  }

  @Test(
    "Requests that differ in one field each get the response that they ask for",
    arguments: ["/v1/favorites", "/v1/defaults/standard", "/v1/defaults/standard/name"]
  )
  func variants(path: String) async throws {
    try await Self.run({ $0.corsOrigins = ["https://app.example"] }) { _, shared, devices in
      for device in devices {
        let long = String(repeating: "\(device.user) ", count: 100)
        _ = try await device.put("/v1/defaults/standard/name", "\"\(long)\"")
        _ = try await device.put("/v1/favorites/long", #"{"title":"\#(device.user)","data":"\#(long)"}"#)
      }
      let tags = [
        try await shared.fresh(devices[0], path), try await shared.fresh(devices[0], path, ["Accept-Encoding: gzip"]),
      ]
      .compactMap { $0.field("ETag") }
      try #require(tags.count == 2)
      let variants: [(String, [String])] = [
        ("GET", []), ("GET", ["Accept-Encoding: gzip"]), ("GET", ["Accept-Encoding: identity"]),
        ("HEAD", []), ("HEAD", ["Accept-Encoding: gzip"]),
        ("GET", ["If-None-Match: \(tags[0])"]), ("GET", ["If-None-Match: \(tags[1])"]),
        ("GET", ["If-None-Match: \(tags[0])", "Accept-Encoding: gzip"]), ("GET", ["If-None-Match: *"]),
        ("GET", ["If-None-Match: \"x\""]), ("GET", ["If-None-Match: x"]),
        ("GET", ["If-None-Match: \(tags[0])", "Prefer: wait=0"]),
        ("GET", ["Origin: https://app.example"]), ("GET", ["Origin: https://other.example"]),
      ]
      for turn in 1...4 {
        for (method, fields) in variants {
          for (index, device) in devices.enumerated() {
            let response = try await shared.get(device, path, fields, method: method)
            let fresh = try await shared.fresh(device, path, fields, method: method)
            let comment: Comment = "\(method) by user \(index), turn \(turn): \(fields)"
            Self.expect(response, equals: fresh, comment)
            #expect(
              response.field("Access-Control-Allow-Origin") == fresh.field("Access-Control-Allow-Origin"),
              comment
            )
            if fields == ["If-None-Match: \(tags[0])"] { #expect(response.status == (index == 0 ? 304 : 200), comment) }
          }
        }
      }
    }
  }

  @Test("Requests with different queries each get their own resource")
  func queries() async throws {
    try await Self.run { _, shared, devices in
      let cursor = try #require(try await shared.fresh(devices[0], "/v1/profile").cursor)
      _ = try await devices[0].delete("/v1/favorites/a")
      let paths = [
        "/v1/favorites", "/v1/favorites?", "/v1/favorites?limit=1", "/v1/favorites?limit=2", "/v1/favorites?prefix=a",
        "/v1/favorites?at=\(cursor)", "/v1/favorites?unknown=1", "/v1/favorites/", "/v1/favorites/%62", "/v1/Favorites",
      ]
      for turn in 1...4 {
        for path in paths {
          for (index, device) in devices.enumerated() {
            let response = try await shared.get(device, path)
            Self.expect(response, equals: try await shared.fresh(device, path), "\(path), user \(index), turn \(turn)")
          }
        }
      }
    }
  }

  private enum End: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case logout, password, erasure, removal

    var testDescription: String { rawValue }

    /// Ends the sessions of `device`'s user, except `other` if the kind of end spares one.
    func end(_ device: Device, by other: Device) async throws -> RawResponse {
      let password = ServerFixture.password
      return switch self {
      case .logout: try await device.delete("/v1/sessions/\(device.session)")
      case .removal: try await other.delete("/v1/sessions/\(device.session)")
      case .password:
        try await other.put("/v1/me/password", #"{"current":"\#(password)","new":"battery staple"}"#)
      case .erasure: try await other.ask("DELETE", "/v1/me", #"{"password":"\#(password)"}"#)
      }
    }
  }

  @Test("A token that has ended is refused at once, and the other users are not affected", arguments: End.allCases)
  private func ended(_ end: End) async throws {
    try await Self.run { users, shared, devices in
      let other = try await users.logIn("ada")
      let paths = ["/v1/favorites", "/v1/defaults/standard", "/v1/profile"]
      let tag = try #require(try await shared.fresh(devices[0], paths[0]).field("ETag"))
      let requests = paths.map { ($0, [String]()) } + [(paths[0], ["If-None-Match: \(tag)"])]
      for _ in 1...4 {
        for (path, fields) in requests {
          for device in devices { #expect(try await shared.get(device, path, fields).status < 400) }
        }
      }
      #expect(try await end.end(devices[0], by: other).status == 204)
      for _ in 1...4 {
        for (path, fields) in requests {
          let refused = try await shared.get(devices[0], path, fields)
          #expect(refused.status == 401 && refused.problem == ProblemSummary("unauthorized"))
          for device in devices.dropFirst() { #expect(try await shared.get(device, path, fields).status == 200) }
        }
      }
    }
  }

  @Test("A session that expires is refused, even if its requests repeat")
  func expired() async throws {
    try await Self.run {
      $0.accounts.tokenLifetime = .seconds(100)
      // The connection stays while the clock moves.
      $0.limits.idleTime = .seconds(3_600)
    } _: { users, shared, devices in
      for _ in 1...4 {
        for device in devices {
          let status = try await shared.get(device, "/v1/profile").status
          #expect(status == 200)
        }
        users.time.advance(by: 61)
      }
      // The last user stays away until the session has expired.
      users.time.advance(by: 30)
      for device in devices.dropLast() { _ = try await shared.get(device, "/v1/profile") }
      users.time.advance(by: 30)
      var statuses: [Int] = []
      for device in devices { statuses.append(try await shared.get(device, "/v1/profile").status) }
      #expect(statuses == [200, 200, 401])
    }
  }

  @Test("Each token and each address has its own count of requests left")
  func rates() async throws {
    try await Self.run {
      $0.tokenRate = RateLimit(requests: 1000, seconds: 1000, burst: 100)
      $0.addressRate = RateLimit(requests: 1000, seconds: 1000, burst: 1000)
    } _: { _, shared, devices in
      func left(_ response: RawResponse, _ partition: String) -> Int? {
        let field = response.values(of: "RateLimit").first { $0.hasPrefix("\"\(partition)\"") }
        return field?.split(separator: ";").first { $0.hasPrefix("r=") }.flatMap { Int($0.dropFirst(2)) }
      }
      var last: [Int?] = [nil, nil, nil]
      var lastOfAddress: Int?
      for _ in 1...5 {
        for (index, device) in devices.enumerated() {
          let response = try await shared.get(device, "/v1/profile")
          let (token, address) = (left(response, "token"), left(response, "address"))
          #expect(token != nil && address != nil)
          if let before = last[index] { #expect(token == before - 1) }
          if let before = lastOfAddress { #expect(address == before - 1) }
          (last[index], lastOfAddress) = (token, address)
        }
      }
    }
  }

  @Test("The log names the client, the path, the id and the size of each repeated request")
  func log() async throws {
    try await Self.run({ $0.accessLog = true }) { users, shared, devices in
      let before = users.log.requests.count
      var ids: [String] = []
      for _ in 1...4 {
        for device in devices {
          let response = try await shared.get(device, "/v1/favorites")
          ids += response.values(of: "X-Request-Id")
          let line = users.log.requests.last ?? ""
          #expect(
            line.contains("client=127.0.0.1 method=GET path=/v1/favorites status=200 bytes=\(response.body.count) ")
          )
          #expect(line.hasSuffix(" requestId=\(ids.last ?? "")\n"))
        }
      }
      #expect(ids.count == 12 && Set(ids).count == 12)
      #expect(users.log.requests.count == before + 12)
    }
  }

  @Test("A client behind a trusted proxy is counted and logged by its own address")
  func proxied() async throws {
    try await Self.run {
      $0.accessLog = true
      $0.trustedProxies = [IPNetwork("127.0.0.1/32")].compactMap { $0 }
    } _: { users, shared, devices in
      for _ in 1...4 {
        for (number, device) in devices.enumerated() {
          _ = try await shared.get(device, "/v1/favorites", ["X-Forwarded-For: 192.0.2.\(number)"])
          #expect((users.log.requests.last ?? "").contains("client=192.0.2.\(number) "))
        }
      }
    }
  }

  @Test("After a user's state was evicted from memory, a repeated read gets it again")
  func evicted() async throws {
    try await Self.run({ $0.cacheBytes = 2 }) { _, shared, devices in
      for _ in 1...4 {
        for (device, name) in zip(devices, ["ada", "bob", "cleo"]) {
          let response = try await shared.get(device, "/v1/defaults/standard")
          #expect(response.json["values"]?["name"]?.stringValue == name)
        }
      }
    }
  }
}
