import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Access to the administration", .timeLimit(.minutes(10)))
struct AdministratorGateTests {
  /// One route of each kind, with the scope that it needs.
  private static func routes(_ user: String) -> [(method: String, path: String, body: String?, scope: String)] {
    let below = "/v1/admin/users/\(user)"
    return [
      ("GET", "/v1/admin/users", nil, "read"), ("GET", below, nil, "read"), ("GET", "/v1/admin/tokens", nil, "read"),
      ("GET", "/v1/admin/journal", nil, "read"), ("GET", "/v1/admin/screens", nil, "read"),
      ("GET", "/v1/admin/waits", nil, "read"), ("GET", "/v1/admin/status", nil, "read"),
      ("GET", "/v1/admin/nodes", nil, "read"), ("GET", "/v1/admin/registered/standard", nil, "read"),
      ("GET", "\(below)/favorites", nil, "read"), ("GET", "\(below)/defaults/standard", nil, "read"),
      ("GET", "\(below)/profile", nil, "read"), ("GET", "\(below)/changes", nil, "read"),
      ("GET", "\(below)/journal", nil, "read"), ("GET", "\(below)/sessions", nil, "read"),
      ("GET", "\(below)/export", nil, "read"),
      ("POST", "\(below)/actions?dryRun=true", actions, "read"),
      ("PUT", "\(below)/favorites/a", "{}", "write"), ("POST", "\(below)/actions", actions, "write"),
      ("PUT", "\(below)/favorites/sessions/position", #"{"index":0}"#, "write"),
      ("DELETE", "\(below)/sessions/01a20945-e032-7752-a596-de703409fc39", nil, "users"),
      ("PATCH", below, "{}", "users"), ("POST", "/v1/admin/users", "{}", "users"),
      ("POST", "/v1/admin/tokens", "{}", "admin"),
      ("DELETE", "/v1/admin/tokens/01a20945-e032-7752-a596-de703409fc39", nil, "admin"),
      ("PATCH", "/v1/admin/registered/standard", "{}", "admin"), ("DELETE", below, nil, "users"),
    ]
  }

  private static let actions =
    #"{"actions":[{"module":"defaults","type":"set","payload":{"key":"k","value":1}}]}"#

  @Test("Without an administrator token, every route is 404, even with a service token from before")
  func off() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      let robot = try await users.service("robot", "admin")
      try await users.restart { $0.administratorToken = nil }
      for route in Self.routes(ada.user) {
        let response = try await robot.ask(route.method, route.path, route.body)
        #expect(response.problem == ProblemSummary("not-found"), "\(route.method) \(route.path)")
      }
    }
  }

  @Test("Each route needs its scope, and the scope admin is enough for all of them")
  func scopes() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      var services: [String: Device] = [:]
      for scope in ["read", "write", "users", "admin"] { services[scope] = try await users.service(scope, scope) }
      for route in Self.routes(ada.user) {
        for (scope, service) in services.sorted(by: { $0.key < $1.key }) {
          let response = try await service.ask(route.method, route.path, route.body)
          let isAllowed = scope == route.scope || scope == "admin"
          #expect((response.status != 403) == isAllowed, "\(scope): \(route.method) \(route.path) \(response.status)")
          #expect(response.status != 401)
        }
      }
    }
  }

  @Test("A user's token is 403 on every route, however often, and a request without a token is 401")
  func usersToken() async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      for route in Self.routes(ada.user) {
        #expect(try await ada.ask(route.method, route.path, route.body).status == 403, "\(route.method) \(route.path)")
        let body = route.body.map { Array($0.utf8) }
        let response = try await users.ask(route.method, route.path, body: body)
        #expect(response.status == 401 && response.field("WWW-Authenticate") != nil, "\(route.method) \(route.path)")
      }
      // After a restart, only the store knows the token.
      try await users.restart()
      #expect(try await ada.get("/v1/admin/users").problem == ProblemSummary("forbidden"))
    }
  }

  @Test("More than 20 wrong tokens from an address are 429, and the right ones still work")
  func limit() async throws {
    try await ServerFixture.administered { users in
      let (ada, robot) = (try await users.signUp(), try await users.service("robot", "read"))
      let wrong = Device(users: users, token: "wrong", user: "", session: "")
      for _ in 1...20 { #expect(try await wrong.get("/v1/admin/users").status == 401) }
      let refused = try await wrong.get(ada.administered("/favorites"))
      #expect(refused.problem == ProblemSummary("too-many-requests"))
      #expect(refused.field("Retry-After") == "3")
      for device in [users.admin, robot] { #expect(try await device.get("/v1/admin/users").status == 200) }
      users.advance(by: 3)
      #expect(try await wrong.get("/v1/admin/users").status == 401)
      #expect(try await wrong.get("/v1/admin/users").status == 429)
    }
  }

  @Test("A service token is 401 on the routes of users")
  func userRoutes() async throws {
    try await ServerFixture.administered { users in
      let robot = try await users.service("robot", "admin")
      for path in ["/v1/me", "/v1/favorites", "/v1/changes", "/v1/sessions"] {
        #expect(try await robot.get(path).status == 401, "\(path)")
      }
    }
  }
}
